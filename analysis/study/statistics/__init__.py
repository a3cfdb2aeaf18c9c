"""The statistics of the figures, tables and verdicts. Seeds are paired: all methods see the same samples."""

from analysis.study.statistics.best import RULE, Best, Grid, best_setting, score
from analysis.study.statistics.held_out import HELD_OUT, OWN, UNTUNED, Reported, report
from analysis.study.statistics.intervals import (
    FEWEST,
    Interval,
    across,
    by_error,
    exponents,
    mean,
    paired,
    ratio,
    significantly_different,
    slope,
)
from analysis.study.statistics.profiles import profile, tries
from analysis.study.statistics.sensitivity import WITHIN, Robustness, losses, lost, robustness

__all__ = [
    "FEWEST",
    "HELD_OUT",
    "OWN",
    "RULE",
    "UNTUNED",
    "WITHIN",
    "Best",
    "Grid",
    "Interval",
    "Reported",
    "Robustness",
    "across",
    "best_setting",
    "by_error",
    "exponents",
    "losses",
    "lost",
    "mean",
    "paired",
    "profile",
    "ratio",
    "report",
    "robustness",
    "score",
    "significantly_different",
    "slope",
    "tries",
]
