"""Ticks of linear and logarithmic axes."""

import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import EngFormatter, FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, ScalarFormatter


def log_ticks(axis: Axis) -> None:
    """Use three to six plain numbers on an axis of less than two decades: 0.3 0.5 1 2, not 3×10⁻¹."""
    low, high = sorted(axis.get_view_interval())
    if isinstance(axis.get_major_locator(), FixedLocator) or not (low > 0 and high / low < 100):
        return
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    for digits in ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 5), range(1, 10)):
        ticks = [digit * 10.0**power for power in powers for digit in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if 3 <= len(ticks) <= 6:
            break
    else:
        found = MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        ticks = [tick for tick in found if low <= tick <= high]
        axis.set_minor_locator(FixedLocator([]))
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FuncFormatter(_plain))
    axis.set_minor_formatter(NullFormatter())


def _plain(value: float, _: int) -> str:
    """0.3, 2 M, 3·10⁻⁵"""
    if value >= 1e6:
        return EngFormatter(sep="\N{NO-BREAK SPACE}")(value)
    power = int(np.floor(np.log10(value)))
    return f"{value:.6g}" if power >= -4 else f"${value / 10.0**power:.6g}{{\\cdot}}10^{{{power}}}$"


def linear_ticks(axis: Axis) -> None:
    """Put the factor into every tick label, not at the end of the axis: 2 G, and 2·10⁻⁶ for small values."""
    most = max(map(abs, axis.get_view_interval()))
    if not isinstance(axis.get_major_formatter(), ScalarFormatter):
        return
    if most >= 1e6:
        axis.set_major_formatter(EngFormatter(sep="\N{NO-BREAK SPACE}"))
    elif 0 < most < 1e-4:
        power = int(np.floor(np.log10(most)))
        axis.set_major_formatter(lambda x, _: f"${x / 10.0**power:.6g}{{\\cdot}}10^{{{power}}}$" if x else "0")
