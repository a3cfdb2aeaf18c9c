"""The experiment that chooses default settings is the same for all methods, and no other experiment relies on them."""

import pytest
import yaml

from bench.base.registry import algorithms
from bench.config.experiment import axes_of, blocks_of
from tests.bench.config.test_config import CONF, HOMES

BUDGET = 2000
NATIVE = {
    "adagrad_norm",
    "autostep_gt",
    "d_dog",
    "dadagrad_norm",
    "deco",
    "dnasa",
    "dog",
    "gt_nsgdm",
    "nsgdm",
    "prodigy",
}
"""Methods with constants of their own."""
DEFAULTS = yaml.safe_load((CONF / "experiment/defaults.yaml").read_text())
FILES = [file for home in HOMES for file in sorted(home.rglob("*.yaml")) if file.stem != "defaults"]


def grids(experiment):
    return [axes_of(block, set()) for block in blocks_of(experiment)]


def stepsizes(grid):
    return next(grid[key] for key in ("algo.eta", "algo.a0", "algo.multiplier") if key in grid)


BLOCKS = [(algo, grid) for grid in grids(DEFAULTS) for algo in grid["algo"]]


def test_every_method_with_a_stepsize_has_the_same_budget_and_grid_size():
    datasets = {("digits", "ring"), ("magic", "ladder"), ("quadratics", "ring")}
    for algo in set(algorithms) - NATIVE:
        ours = [grid for name, grid in BLOCKS if name == algo and grid["topology"] != ["all_reduce"]]
        pooled = [grid for name, grid in BLOCKS if name == algo and grid["topology"] == ["all_reduce"]]
        if not algorithms[algo].properties.exact_average:
            assert {(*grid["dataset"], *grid["topology"]) for grid in ours} == datasets, algo
        assert {grid["dataset"][0] for grid in ours or pooled} == {name for name, _ in datasets}, algo
        for name, _ in datasets:
            values = [v for grid in ours or pooled if grid["dataset"] == [name] for v in stepsizes(grid)]
            assert len(values) == len(set(values)) in (7, 9, 11), algo  # two more where the best is at an edge
    assert {name for name, grid in BLOCKS if grid["topology"] == ["all_reduce"]} == {"adam", "dsgd", "nsgdm", "storm"}
    assert {name for name, _ in BLOCKS} & NATIVE == {"nsgdm"}


@pytest.mark.parametrize(
    ("algo", "grid"), [pytest.param(*block, id=f"{block[0]}-{i}") for i, block in enumerate(BLOCKS)]
)
def test_a_block_fits_its_method(algo, grid):
    cls = algorithms[algo]
    properties, (steps,) = cls.declare_for({}), grid["steps"]
    options = {key.removeprefix("algo."): values for key, values in grid.items() if key.startswith("algo.")}
    assert set(options) <= set(cls.stepsize_options())
    assert len(options.keys() - {"schedule"}) == 1
    assert options.get("schedule", ["fixed", "diminishing"]) == ["fixed", "diminishing"]
    assert steps * properties.gradients == BUDGET
    assert 31 <= steps // grid["eval_every"][0] <= 33
    assert grid["seed"] == [0, 1, 2]
    assert grid["dtype"] == ["float64"]
    assert (grid["engine"], grid.get("network", ["none"])) == (
        (["events"], ["lan"]) if properties.asynchronous else (["stacked"], ["none"])
    )
    assert grid.get("topology.lazy", [False]) == [properties.lambda_min is not None]
    assert not properties.exact_average or grid["topology"] == ["all_reduce"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_other_experiments_state_the_settings_that_it_chooses(file):
    """So that new defaults do not change their runs."""
    for grid in grids(yaml.safe_load(file.read_text())):
        for algo in set(grid["algo"]) - NATIVE:
            assert "algo.schedule" in grid, algo
            assert {"algo.eta", "algo.a0"} & set(grid), algo
