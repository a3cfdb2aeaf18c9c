"""Every method learns at its default setting, or its page says why not."""

import pytest

from bench.base.registry import algorithms
from bench.config.plan import of_command
from bench.methods import example
from tests.helpers.cli import ROOT
from tests.helpers.configs import rows

EXACT = {"autostep_gt", "dgm_bb"}
"""Methods for exact gradients, which do not move with mini-batches."""
SLOW = {"acid", "asy_sonata", "dasa", "dda", "osgp", "swift"}
"""Methods whose default stepsize is too small for digits in 300 steps."""


def test_the_exceptions_state_their_reason():
    assert {name for name in algorithms if algorithms[name].properties.exact} == EXACT
    assert {name for name in algorithms if "slow on digits" in (algorithms[name].__doc__ or "")} == SLOW
    text = (ROOT / "docs/methods.md").read_text(encoding="utf-8")
    section = text.partition("## Default settings")[2].partition("\n## ")[0]
    (exceptions,) = (part for part in section.split("\n\n") if "half of the initial loss" in part)
    assert {name for name in algorithms if f"`{name}`" in exceptions} == EXACT | SLOW


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(algorithms))
def test_the_default_setting_learns(name):
    """300 steps on digits halve the loss.

    The command is that of bench/methods.py NAME, without a compressor and without a slow node.
    """
    words = [word for word in example(algorithms[name]).split()[2:] if not word.startswith(("compressor", "network"))]
    engine = [] if algorithms[name].properties.asynchronous else ["engine=stacked"]
    (config,) = of_command([*words, "steps=300", "eval_every=300", *engine, "tracker=none"])
    (measured,) = rows(config)
    halved = measured[-1]["train_loss"] < measured[0]["train_loss"] / 2
    assert halved == (name not in EXACT | SLOW)
