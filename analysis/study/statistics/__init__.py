"""Statistics of figures, tables and verdicts. Seeds are paired: all methods see the same samples."""
# ruff: noqa: F401

from .best import HELD_OUT, OWN, RULE, SEVERAL, UNTUNED, Best, Grid, Reported, best_setting, numbered, report, score
from .intervals import (
    FEWEST,
    Interval,
    across,
    exponents,
    mean,
    paired,
    ratio,
    significantly_better,
    significantly_different,
    slope,
)
from .profiles import profile, tries
from .sensitivity import WITHIN, Robustness, losses, lost, robustness
