"""The process that keeps W&B up to date: python -m bench.sweep.tracking.process PROJECT ENTITY

Told by the runner which runs begin and end, a JSON line each; everything else it reads from their folders.
Online, runs that are made one at a time are followed live; those of a group, and all offline, are written when
they end. Whatever happens to it, the runs do not notice: the store has everything, and bench/sync.py makes up for it.
"""

from __future__ import annotations

import json
import os
import select
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.base.account import mode

PATIENCE_S = 1.0
"""Seconds between looks at the runs that are followed."""


def answer(**words: Any) -> None:
    """Tell the runner."""
    print(json.dumps(words), flush=True)


def words_of(error: Exception) -> str:
    """One line about it."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


class Messages:
    """Lines from the runner."""

    def __init__(self) -> None:
        self._rest, self.open = b"", True

    def wait(self) -> list[dict[str, Any]]:
        if not select.select([0], [], [], PATIENCE_S)[0]:
            return []
        data = os.read(0, 1 << 16)
        self.open = bool(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]


def stand_back() -> None:
    """From now on, let those who compute go first."""
    os.nice(10)
    with suppress(OSError):  # Linux weighs sessions against each other, whatever the processes in them say
        Path("/proc/self/autogroup").write_text("10")


def main() -> None:
    project, entity = sys.argv[1], sys.argv[2] or None
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    try:
        from bench.sweep.tracking.wandb_run import WandbMirror, warm_up

        warm_up()
    except ImportError as error:
        answer(trouble=f"{error}")
        return
    except Exception as error:  # variables that W&B does not accept
        answer(trouble=words_of(error))
        return
    answer(ready=mode())
    stand_back()
    followed: dict[str, WandbMirror] = {}
    messages = Messages()
    while messages.open:
        for message in messages.wait():
            run = message["run"]
            try:
                if "end" in message:
                    mirror = followed.pop(run, None) or WandbMirror(Path(run), project, entity)
                    answer(alive=True)
                    mirror.finish()
                    answer(run=run)
                elif message["live"] and mode() == "online":
                    followed[run] = WandbMirror(Path(run), project, entity)
            except Exception as error:  # one run's trouble is not the next one's
                followed.pop(run, None)
                answer(run=run, trouble=words_of(error))
        for run, mirror in list(followed.items()):
            try:
                mirror.update()
            except Exception as error:
                del followed[run]
                answer(run=run, trouble=words_of(error))
    for mirror in followed.values():  # the runner is gone
        mirror.finish()


if __name__ == "__main__":
    main()
