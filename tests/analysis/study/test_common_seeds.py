"""Which seeds compare the methods of a problem, if they were not all run with the same ones."""

from collections.abc import Iterable

from analysis.results.results import Results
from analysis.study.outcome import outcome
from analysis.study.select import reference
from tests.helpers.invented import made
from tests.helpers.mentions import mentions


def runs(algo: str, accuracy: float, seeds: Iterable[int], eta: float | None = None) -> list[dict]:
    option = {} if eta is None else {"eta": eta}
    return [{"algo": algo, **option, "seed": seed, "end": 0.1, "accuracy": accuracy} for seed in seeds]


def tuned(algo: str, accuracy: float) -> list[dict]:
    """Return runs that choose η = 0.1 on seeds 0 to 2 and report it on seeds 3 to 9."""
    return [*runs(algo, accuracy, range(10), 0.1), *runs(algo, 10.0, range(3), 1.0)]


def untuned(**seeds: Iterable[int]) -> Results:
    return made([row for place, (algo, some) in enumerate(seeds.items()) for row in runs(algo, 80.0 - place, some)])


def test_methods_are_compared_on_the_seeds_that_all_have():
    two = [*runs("dnasa", 79.0, range(10)), *runs("adnasa", 70.0, range(10))]
    (sentence,) = outcome(made([*two, *tuned("dsgd", 80.0)]))
    assert mentions(
        sentence, "D-SGD (η = 0.1) reaches the highest test accuracy", "80.00", "7 seeds", "D-NASA", "79.00"
    )


def test_the_reference_is_the_best_on_the_seeds_that_all_have():
    two = [row for algo in ("dsgt", "gnsd") for eta in (0.1, 1.0) for row in runs(algo, 70.0 + eta, range(10), eta)]
    assert reference(made([*two, *tuned("dsgd", 80.0)])) == "dsgd"


def test_an_interrupted_sweep_is_compared_on_the_seeds_that_all_have():
    (sentence,) = outcome(untuned(dnasa=range(7), dsgd=range(6), dsgt=[0, 1, 2, 3, 4, 6]))
    assert mentions(sentence, "D-NASA reaches the highest test accuracy", "80.00", "5 seeds", "D-SGD", "79.00")


def test_a_method_with_few_common_seeds_is_not_compared():
    first, note = outcome(untuned(dnasa=range(10), dsgd=range(10), dsgt=range(4)))
    assert mentions(first, "D-NASA reaches the highest test accuracy", "10 seeds", "D-SGD")
    assert note.startswith("Not compared ")
    assert mentions(note, ": D-SGT.")


def test_methods_without_enough_common_seeds_are_named():
    (apart,) = outcome(made([*runs("dnasa", 79.0, range(3)), *tuned("dsgd", 80.0)]))
    (interrupted,) = outcome(untuned(dnasa=range(5), dsgd=range(4), dsgt=[0, 1, 2, 4]))
    assert apart.startswith("Not compared ")
    assert mentions(apart, ": D-NASA, D-SGD.")
    assert interrupted.startswith("Not compared ")
    assert mentions(interrupted, ": D-SGD, D-SGT.")
    assert outcome(untuned(dnasa=range(5))) == []
