"""Values of a stranger's run that would end a command for all runs damage this run only."""

import pytest

from bench.store.kinds import MANIFEST, SUMMARY, odd


@pytest.mark.parametrize(
    ("kinds", "section", "name", "values"),
    [
        (MANIFEST, "algorithm", "gradients", ["x", 0, [1], -1]),
        (MANIFEST, "algorithm", "samples", ["x", 0, [1]]),
        (MANIFEST, "algorithm", "start_samples", ["x", -1, [1], 0.5]),
        (MANIFEST, "algorithm", "requires_float64", [[1], "yes"]),
        (MANIFEST, "mixing", "rho", [-1, -1e308, 2.0, "x", float("nan")]),
        (SUMMARY, "", "schedule", [5, 1.5, True, ["fixed"]]),
    ],
)
def test_values_that_no_run_has_are_damage(kinds, section, name, values):
    for value in values:
        content = {section: {name: value}} if section else {name: value}
        assert name in odd(content, kinds) or section in odd(content, kinds)


def test_values_that_runs_have_are_none():
    algorithm = {"gradients": 5, "samples": 1, "start_samples": 0, "requires_float64": False}
    for rho in (None, 0, 0.9, 1 + 1e-9):
        assert odd({"algorithm": algorithm, "mixing": {"rho": rho}}, MANIFEST) is None
    for schedule in (None, "fixed"):
        assert odd({"schedule": schedule}, SUMMARY) is None
