"""The process that writes W&B runs: python -m bench.sweep.tracking.process PROJECT ENTITY PARAMETERS

PARAMETERS are the values that `wandb agent` chose, as JSON. The runner sends a JSON line when a run begins and when it
ends. This process reads everything else from the run folders. In online mode it uploads single runs while they are
computed, and runs of a group when they end. Its errors never affect a run; bench/sync.py uploads missing runs later.
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
"""Seconds between two updates of live runs."""


def answer(**words: Any) -> None:
    """Send a message to the runner."""
    print(json.dumps(words), flush=True)


def words_of(error: Exception) -> str:
    """Return the error as one line."""
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
    """Lower the priority of this process."""
    os.nice(10)
    with suppress(OSError):  # Linux schedules sessions against each other, whatever their nice values
        Path("/proc/self/autogroup").write_text("10")


def main() -> None:
    project, entity, parameters = sys.argv[1], sys.argv[2] or None, json.loads(sys.argv[3])
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    try:
        from bench.sweep.tracking.wandb_run import Busy, WandbMirror, warm_up

        warm_up()
    except Exception as error:  # no W&B, or a variable that it does not accept
        answer(trouble=words_of(error))
        return
    answer(ready=mode())
    stand_back()
    followed: dict[str, WandbMirror] = {}
    messages, later = Messages(), list[dict[str, Any]]()
    while messages.open:
        now, later = [*later, *messages.wait()], []
        for message in now:
            run = message["run"]
            try:
                if "end" in message:
                    mirror = followed.pop(run, None) or WandbMirror(Path(run), project, entity, parameters)
                    answer(alive=True)
                    mirror.finish()
                    answer(run=run)
                elif message["live"] and mode() == "online":
                    if run in followed:  # it starts again
                        followed.pop(run).release()
                    followed[run] = WandbMirror(Path(run), project, entity, parameters)
            except Busy:
                later.append(message)
            except Exception as error:  # the other runs continue
                followed.pop(run, None)
                answer(run=run, trouble=words_of(error))
        for run, mirror in list(followed.items()):
            try:
                mirror.update()
            except Exception as error:
                del followed[run]
                answer(run=run, trouble=words_of(error))
    for mirror in followed.values():  # the runner has ended
        mirror.finish()


if __name__ == "__main__":
    main()
