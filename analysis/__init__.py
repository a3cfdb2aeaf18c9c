"""Figures, tables and reports from a results folder. Reads results only: no torch, no MPI."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.results.folder import load

__all__ = ["load"]


def __getattr__(name: str) -> Any:
    """``load`` when it is asked for: the processes that read thousands of runs need no pandas."""
    if name == "load":
        from analysis.results.folder import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
