"""Jobs that one of Hydra's launchers has sent off."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from bench.base.home import ROOT
from bench.sweep.cluster import slurm

NAME = "hydra.launcher.name="


class Sent:
    """Jobs of a launcher, which waits for them in its own way: for ever, if one is killed and SLURM keeps no accounts.

    So it waits in a thread; how the jobs stand is asked of the queue, and what became of the runs of their folders.
    """

    def __init__(self, send: Callable[[Sequence[str]], None], words: Sequence[str], name: str) -> None:
        """``send`` is told more words for Hydra: in SLURM's queue the jobs are known by a ``name`` of their own."""
        queued = any(word.startswith("hydra/launcher=") and "slurm" in word for word in words)
        typed = [word.removeprefix(NAME) for word in words if word.startswith(NAME)]
        self.name = (typed or [f"hearsay-{name}"])[-1] if queued else None
        """In SLURM's queue; None where they are sent elsewhere."""
        self.error: BaseException | None = None
        self._words = [f"{NAME}{self.name}"] if queued and not typed else []
        with suppress(ImportError):
            import submitit  # noqa: F401  which sets the level of its words when it is imported
        logging.getLogger("submitit").setLevel(logging.ERROR)  # it complains where there are no accounts
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)  # jobs are to find this source, whatever is installed
        self._thread = threading.Thread(target=self._wait, args=(send,), daemon=True)
        self._thread.start()

    def _wait(self, send: Callable[[Sequence[str]], None]) -> None:
        try:
            send(self._words)
        except BaseException as error:  # of the first job that ended badly; of the others nothing is known
            self.error = error

    def stands(self) -> str | None:
        """How the queue stands; None where nothing more is to come."""
        waits = self._thread.is_alive()
        if self.name is None:
            return "" if waits else None
        found = slurm.tasks(name=self.name)
        if any(not task.over for task in found):
            return f"Queue: {slurm.summary(found)}."
        return "" if waits and not found else None

    def reason(self) -> str:
        """The last line of what the launcher had to say."""
        lines = [line.strip() for line in str(self.error).splitlines() if line.strip(" -")]
        return lines[-1] if self.error is not None and lines else repr(self.error)
