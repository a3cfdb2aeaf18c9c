"""A process that forks a child per command, without the seconds of imports: python -m tests.helpers.zygote SOCKET KIND

One whose KIND is ``suite`` has imported the suite, and a child calls the script's ``main``. One of ``libraries`` has
imported those alone, and a child runs the file itself: the source that it finds, and its plug-ins, are read anew.

It listens on the socket with this number until its standard input ends; whoever connects is attended by a child.
One JSON line in, {"script", "words", "cwd", "kill_after", "environment"}; one out, {"code", "out", "err"}. It
has no threads of Python's, so its children are as good as new. With ``kill_after``, the command's process group is
killed that many seconds after its birth; an ``environment`` takes the place of this one.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

LIBRARIES = (
    *("torch", "hydra.utils", "networkx", "scipy.sparse.linalg", "scipy.stats", "sklearn.datasets", "pandas"),
    *("pyarrow.parquet", "matplotlib.pyplot", "seaborn", "jinja2", "rich.progress", "rich.table"),
)
COMMANDS = ("contract", "fetch", "methods", "partition", "run", "status", "submit", "sync", "topology")
MAIN: dict[str, Callable[[], int]] = {}
TIMEOUT_S = 100


def child(order: dict, out: int, err: int) -> None:
    code = 1
    try:
        os.setsid()
        os.chdir(order["cwd"])
        if order["environment"] is not None:
            os.environ.clear()
            os.environ.update(order["environment"])
            tempfile.tempdir = None  # that of the environment, not the one that was asked for before
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout = sys.__stdout__ = os.fdopen(1, "w")
        sys.stderr = sys.__stderr__ = os.fdopen(2, "w")
        sys.argv = [order["script"], *order["words"]]
        code = MAIN[order["script"]]() if MAIN else as_a_file(Path(order["script"]))
    except SystemExit as end:  # argparse, after its help or complaint
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def as_a_file(script: Path) -> int:
    """As a fresh interpreter would run it, which finds the modules of the script's own folder first."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    sys.path[:1] = [str(script.parent), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    importlib.invalidate_caches()
    try:
        runpy.run_path(str(script), run_name="__main__")
    finally:  # what an interpreter does at its end
        threading._shutdown()
        atexit._run_exitfuncs()
    return 0


def warm(kind: str) -> None:
    """Import what no child need import, and look up what none need look up."""
    if kind == "libraries":
        for name in LIBRARIES:
            importlib.import_module(name)
        return
    from bench.base.registry import discover
    from bench.build.fingerprint import fingerprint
    from bench.config.plan import of_command

    MAIN.update({f"bench/{name}.py": importlib.import_module(f"bench.{name}").main for name in COMMANDS})
    discover()
    fingerprint(*of_command([]))


def serve(order: dict) -> dict:
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        pid = os.fork()
        if pid == 0:
            child(order, out.fileno(), err.fileno())
        deadline = time.monotonic() + (order["kill_after"] or TIMEOUT_S)
        while (ended := os.waitpid(pid, os.WNOHANG)) == (0, 0):
            if time.monotonic() > deadline:
                os.killpg(pid, signal.SIGKILL)
            time.sleep(0.01)
        out.seek(0)
        err.seek(0)
        return {"code": os.waitstatus_to_exitcode(ended[1]), "out": out.read(), "err": err.read()}


def attend(client: socket.socket) -> None:
    """All commands of one process of the tests, one after the other."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with client.makefile("r") as orders, client.makefile("w") as answers:
        for line in orders:
            print(json.dumps(serve(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    warm(sys.argv[2])
    gc.freeze()  # or each child's first collection would copy every page
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that attend
    with socket.socket(fileno=int(sys.argv[1])) as server:
        server.set_inheritable(False)  # by what a command starts, and may leave behind
        while sys.stdin not in select.select([server, sys.stdin], [], [])[0]:
            client, _ = server.accept()
            if os.fork() == 0:
                attend(client)
                os._exit(0)
            client.close()
