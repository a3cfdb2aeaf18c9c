"""Labels of options of plug-in methods."""

import pytest

from bench.base import renamed
from bench.base.registry import algorithms
from bench.method import algorithm
from tests.helpers.configs import config


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("name", ["numbers", "vectors", "excess", "stretch", "regulariser"])
def test_an_option_with_an_earlier_name_of_a_column_has_its_prefix(name):
    """Readers replace earlier names by the present ones."""
    mine = type("Mine", (algorithms["dsgd"],), {"__annotations__": {name: float}, name: 1.0, "__module__": __name__})
    algorithm("mine", vectors_per_step=1, cite="mine")(mine)
    labels = config(algo={"name": "mine", name: 3.0}).labels()
    assert labels[f"algo.{name}"] == 3
    assert renamed.columns(labels) == labels
