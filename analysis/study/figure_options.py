"""The options of figures and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.results.results import NETWORK_S
from bench.base.errors import UserError
from bench.clock import Network


@dataclass(frozen=True)
class FigureOptions:
    """The options of ``make_figures.py``, the second argument of a figure or table.

    Attributes:
        x: The column on the x-axis of curves. None: the default of the figure.
        cost: The cost measure, such as ``step`` or ``bytes``.
        metrics: The metrics to show. Empty: the default of the figure.
        reference: The method that the others are compared with.
        over: The option whose sensitivity is shown.
        columns: The columns of a table. Empty: the default of the table.
        tune_by: The metric that settings are tuned by. None: test accuracy or loss.
        networks: The networks for which seconds are computed.
        schedule: The stepsize schedule to show. None: the schedule is tuned too.

    Raises:
        UserError: Two networks have the same name.
    """

    x: str | None = None
    cost: str = "step"
    metrics: tuple[str, ...] = ()
    reference: str | None = None
    over: str = "eta"
    columns: tuple[str, ...] = ()
    tune_by: str | None = None
    networks: tuple[Network, ...] = ()
    schedule: str | None = None

    def __post_init__(self) -> None:
        names = [network.name for network in self.networks]
        if twice := [name for name in names if names.count(name) > 1]:
            raise UserError(
                f"Two networks are called '{twice[0]}', so that tables cannot distinguish them. A network has the name "
                "of its file: rename one file, or type each network once."
            )


USUAL = FigureOptions()
OPTIONS = {"x": "x", "cost": "cost", "metric": "metrics", "reference": "reference", "over": "over"}
OPTIONS |= {"columns": "columns", "tune_by": "tune_by", "network": "networks"}
"""Options that a figure or table may declare in ``uses``, with their fields of ``FigureOptions``."""


def check_options(uses: Sequence[str] | None) -> Sequence[str] | None:
    """Return the declared options; raise ``ValueError`` if one does not exist."""
    if wrong := [name for name in uses or () if name not in OPTIONS]:
        raise ValueError(f"unknown option {wrong[0]!r} in uses; the options are {', '.join(OPTIONS)}")
    return uses


def unused(request: FigureOptions, uses: Sequence[str] | None) -> list[str]:
    """Return the given options that are not declared, as typed; none if ``uses`` is None."""
    clocks = [name for name in ("x", "cost") if getattr(request, name) == NETWORK_S and name in (uses or ())]
    uses = [*uses, "network"] if uses is not None and clocks else uses
    given = [name for name, field in OPTIONS.items() if getattr(request, field) != getattr(USUAL, field)]
    return [f"--{name.replace('_', '-')}" for name in given if uses is not None and name not in uses]
