"""Figures, tables and reports from a results folder. It needs no torch and no MPI."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.results.folder import load

__all__ = ["load"]


def __getattr__(name: str) -> Any:
    """Import ``load`` on first use, because the processes that read many runs need no pandas."""
    if name == "load":
        from analysis.results.folder import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
