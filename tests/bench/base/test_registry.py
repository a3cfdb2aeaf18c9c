import pytest

from bench.base.errors import UserError
from bench.base.registry import Registry, algorithms, datasets, models, topologies, weight_rules


def test_what_ships_with_the_suite_is_found():
    assert {"dsgd", "dsgt", "dasagt", "dnasa", "d2"} <= set(algorithms)
    assert {"ring", "random", "ladder", "complete"} <= set(topologies)
    assert {"uniform", "max_degree", "metropolis", "laplacian"} <= set(weight_rules)
    assert {"synthetic", "spike", "quadratics"} <= set(datasets)
    assert {"linear", "mlp", "cnn", "lenet", "resnet20", "transformer", "module"} <= set(models)


def test_duplicates_are_refused_and_both_named():
    registry: Registry = Registry("thing")

    @registry.register("one")
    def first(): ...

    with pytest.raises(UserError, match=r"'one' .*first.*second"):

        @registry.register("one")
        def second(): ...


def test_an_algorithm_has_its_article():
    registry: Registry = Registry("algorithm")
    registry.add("one", test_an_algorithm_has_its_article)
    with pytest.raises(UserError, match="'one'"):
        registry.add("one", test_duplicates_are_refused_and_both_named)


def test_unknown_names_answer_with_the_closest_and_all():
    with pytest.raises(UserError, match=rf"'dnaas'.*'dnasa'.* {', '.join(algorithms)}"):
        algorithms["dnaas"]
