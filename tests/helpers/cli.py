"""The real command line, as a user would type it."""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]

Done = subprocess.CompletedProcess[str]


def python(script: str, *words: str, cwd: Path | None = None, at_most_s: float = 100, **environment: str) -> Done:
    """Run a script, of the repository where its path is relative, from ``cwd``, with nothing of the suite imported."""
    order = {"script": str(ROOT / script), "words": words, "cwd": str(cwd or Path.cwd()), "kill_after": at_most_s}
    return _ordered("libraries", {**order, "environment": {**os.environ, **environment}})


def fresh(script: str | Path, *words: str, cwd: Path | None = None, **environment: str) -> Done:
    """The same with an interpreter that has imported nothing: where what is imported, or its memory, matters."""
    return subprocess.run(
        [sys.executable, str(ROOT / script), *words],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
    )


def run(*words: str, cwd: Path, **environment: str) -> Done:
    return python("bench/run.py", *words, cwd=cwd, **environment)


def typed(
    *words: str,
    cwd: Path,
    script: str = "bench/run.py",
    kill_after: float | None = None,
    environment: dict[str, str] | None = None,
) -> Done:
    """The script's ``main`` on these words in a process of its own, which need not import torch again.

    With ``kill_after`` its whole process group is killed after so many seconds, if it still runs. An
    ``environment`` is all that it gets; of what is read at import, it is too late to change anything.
    """
    order = {"script": script, "words": words, "cwd": str(cwd), "kill_after": kill_after, "environment": environment}
    return _ordered("suite", order)


def _ordered(kind: str, order: dict[str, Any]) -> Done:
    zygote = _zygote(kind)
    try:
        print(json.dumps(order), file=zygote, flush=True)
        answer = json.loads(zygote.readline())
    except BaseException:  # the test's time is up: the next one must not be given this one's answer
        zygote.close()
        _zygote.cache_clear()
        raise
    return subprocess.CompletedProcess(order["words"], answer["code"], answer["out"], answer["err"])


def refused(words: str, sentence: str, cwd: Path) -> None:
    """These words for run.py are answered with a sentence and exit code 2, and nothing is left behind."""
    done = typed(*words.split(), cwd=cwd)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert list(cwd.iterdir()) == []


@cache
def _zygote(kind: str) -> IO[str]:
    """A connection to the one of this kind of this session, which whoever needs it first has started."""
    address = f"\0hearsay-tests-{kind}-{os.environ.get('PYTEST_XDIST_TESTRUNUID', os.getpid())}"
    with socket.socket(socket.AF_UNIX) as server, suppress(OSError):  # the address is another's, who has started it
        server.bind(address)
        server.listen()
        command = [sys.executable, "-m", "tests.helpers.zygote", str(server.fileno()), kind]
        started = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, pass_fds=[server.fileno()])
        atexit.register(_end, started)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        zygote = connection.makefile("rw")
    atexit.register(zygote.close)
    return zygote


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()
