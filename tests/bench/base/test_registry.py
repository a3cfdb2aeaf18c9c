import pytest

from bench.base.errors import UserError
from bench.base.registry import Registry, algorithms, datasets, models, topologies, weight_rules


def test_finds_the_modules_of_the_suite():
    assert {"dsgd", "dsgt", "dasagt", "dnasa", "d2"} <= set(algorithms)
    assert {"ring", "random", "ladder", "complete"} <= set(topologies)
    assert {"uniform", "max_degree", "metropolis", "laplacian"} <= set(weight_rules)
    assert {"synthetic", "spike", "quadratics"} <= set(datasets)
    assert {"linear", "mlp", "cnn", "lenet", "resnet20", "transformer", "module"} <= set(models)


def test_rejects_duplicate_names_and_names_both_items():
    registry: Registry = Registry("thing")

    @registry.register("one")
    def first(): ...

    with pytest.raises(UserError, match=r"'one' .*first.*second"):

        @registry.register("one")
        def second(): ...


def test_rejects_unknown_names_with_the_closest_and_all_names():
    with pytest.raises(UserError, match=rf"'dnaas'.*'dnasa'.* {', '.join(algorithms)}"):
        algorithms["dnaas"]
