"""One process at a time: a lock on a file, which says who holds it and since when."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import time
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from bench.base.files import read_json

STATES = {"T": ", which is stopped", "Z": ", which is dead"}
"""What is worth saying of a process, by the letter that Linux has for it."""


class Lock:
    """Held until released, or until this process ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stream: TextIOWrapper | None = None

    def take(self) -> bool:
        """Ours from now on; False where another process has it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        stream = self.path.open("a")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.close()
            return False
        except OSError:
            stream.close()
            raise
        stream.truncate(0)
        stream.write(json.dumps({"pid": os.getpid(), "host": platform.node(), "since": time.time()}))
        stream.flush()
        self._stream = stream
        return True

    def release(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def holder(self) -> str:
        """process 123 on this machine, since 14:05:11"""
        said: dict[str, Any] = read_json(self.path)
        if "pid" not in said:
            return "another process"
        here = said["host"] == platform.node()
        since = time.strftime(
            "%H:%M:%S" if time.time() - said["since"] < 86400 else "%Y-%m-%d %H:%M", time.localtime(said["since"])
        )
        how = STATES.get(_letter(said["pid"]), "") if here else ""
        return f"process {said['pid']} on {'this machine' if here else said['host']}{how}, since {since}"


def _letter(pid: int) -> str:
    """How the process is, in Linux's letters; nothing where that cannot be known."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
