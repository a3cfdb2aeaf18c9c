"""Problems on which a method diverged: they count, and averages name those that they leave out."""

from collections.abc import Callable

import pytest

from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions
from analysis.study.outcome import outcome
from analysis.study.select import reference
from tests.helpers.invented import made
from tests.helpers.mentions import mentions

SEEDS = range(5)
NODES = (4, 6, 8, 10, 12)
GONE = {"state": "nonfinite", "end": float("nan"), "accuracy": None}


def runs(algo: str, accuracy: float, *etas: float, gone: Callable[..., bool] = lambda *_: False, **more) -> list[dict]:
    """Return runs whose accuracies differ by 0.1 between seeds; those at ``gone(eta, seed)`` diverged."""
    return [
        {"algo": algo, **({"eta": eta} if eta else {}), "seed": seed, "end": 0.1, "accuracy": accuracy + 0.1 * seed}
        | (GONE if gone(eta, seed) else {})
        | more
        for eta in etas or (0,)
        for seed in SEEDS
    ]


def always(*_) -> bool:
    return True


def never(*_) -> bool:
    return False


def on_five(*diverged: str) -> Results:
    """Return five problems on which D-NASA ends at 90, D-SGD at 85 and D-SGT at 80; some diverged on the last one."""
    gone = dict.fromkeys(diverged, always)
    return made(
        [
            run
            for nodes in NODES
            for algo, accuracy, eta in (("dnasa", 90.0, 0), ("dsgd", 85.0, 0.1), ("dsgt", 80.0, 0.1))
            for run in runs(algo, accuracy, eta, gone=gone.get(algo, never) if nodes == 12 else never, nodes=nodes)
        ]
    )


def said(results: Results, against: str | None = None) -> list[str]:
    return outcome(results, FigureOptions(reference=against))


def test_the_problems_of_the_reference_include_those_on_which_it_diverged():
    count, against, average, left_out = said(on_five("dsgt"), "dsgt")
    assert mentions(count, "D-NASA", "5 of 5")
    assert mentions(against, "D-SGT", "0 of its 5 problems", "diverged on 1", "at worst", "11 % behind")
    assert mentions(average, "4 problems", "D-SGT", "10.00 points below")
    assert mentions(left_out, "1 problem ", "D-SGT diverged", "a9a, ring, nodes 12")
    (*_, against, average) = said(on_five("dsgt"), "dnasa")
    assert against.endswith(" 5 of its 5 problems.")
    assert mentions(average, "5 problems", "D-NASA", "5.00 points above")


def test_the_only_method_that_did_not_diverge_is_the_best():
    count, against, average, left_out = said(on_five("dsgt", "dsgd"), "dnasa")
    assert mentions(count, "D-NASA", "5 of 5")
    assert against.endswith(" 5 of its 5 problems.")
    assert mentions(average, "4 problems", "D-NASA")
    assert mentions(left_out, "1 problem ", "other method diverged", "nodes 12")
    last = made([*runs("dnasa", 90.0), *runs("dsgd", 85.0, 0.1, gone=always), *runs("dsgt", 80.0, 0.1, gone=always)])
    (sentence,) = said(last)
    assert mentions(sentence, "D-NASA reaches the highest", "a9a, ring", "90.20 ±", "(5 seeds)", "D-SGD and D-SGT")


def test_a_problem_on_which_all_methods_diverged_is_counted_and_named():
    everything = ("dnasa", "dsgd", "dsgt")
    count, against, average, left_out = said(on_five(*everything), "dnasa")
    assert mentions(count, "D-NASA reaches the highest test accuracy on 4 of 5 problems", "diverged on 1.")
    assert mentions(against, "4 of its 5 problems", "diverged on 1.")
    assert mentions(average, "4 problems")
    assert mentions(left_out, "1 problem ", "D-NASA diverged", "nodes 12")
    last = made([run for algo, eta in (("dnasa", 0), ("dsgd", 0.1)) for run in runs(algo, 80.0, eta, gone=always)])
    (sentence,) = said(last)
    assert mentions(sentence, "All ", "a9a, ring", "D-NASA and D-SGD.")


def test_all_methods_diverged_on_all_problems():
    both = [run for n in NODES for algo in ("dsgd", "dsgt") for run in runs(algo, 80.0, 0.1, gone=always, nodes=n)]
    count, against = said(made(both), "dsgt")
    assert mentions(count, "All ", "5 of 5 problems.")
    assert mentions(against, "0 of its 5 problems", "diverged on 5.")


def test_a_problem_of_a_single_method_is_not_counted():
    alone = runs("dnasa", 90.0, nodes=14)
    count, against, *_ = said(made([*on_five_rows(), *alone]), "dnasa")
    assert mentions(count, "D-NASA", "5 of 5 problems")
    assert against.endswith(" 5 of its 5 problems.")


def on_five_rows() -> list[dict]:
    return [run for n in NODES for algo, end in (("dnasa", 90.0), ("dsgd", 85.0)) for run in runs(algo, end, nodes=n)]


@pytest.mark.parametrize("seed", SEEDS)
def test_one_diverged_seed_leaves_no_value(seed):
    """All others are better, but the method is not averaged over the seeds that are left."""
    some = [*runs("dnasa", 80.0), *runs("dsgd", 90.0, gone=lambda _, at: at == seed)]
    (sentence,) = said(made(some))
    assert mentions(sentence, "D-NASA reaches the highest", "D-SGD")
    assert "9" not in sentence.partition("±")[0].partition("a9a")[2]


def test_a_tuned_method_diverged_if_it_diverged_at_the_settings_that_were_chosen():
    """η = 1 diverges at seed 3 alone, for which the other seeds choose it; η = 0.1 never diverges."""
    tuned = [*runs("dsgd", 90.0, 1.0, gone=lambda _, at: at == 3), *runs("dsgd", 70.0, 0.1)]
    (sentence,) = said(made([*runs("dnasa", 80.0), *tuned]))
    assert mentions(sentence, "D-NASA reaches the highest", "D-SGD")
    well = [*runs("dsgd", 90.0, 0.1), *runs("dsgd", 90.0, 1.0, gone=always)]  # another setting than the chosen one
    assert mentions(said(made([*runs("dnasa", 80.0), *well]))[0], "D-SGD (η = 0.1) reaches", "D-NASA ends at 80.20 %.")


def test_an_average_names_a_problem_on_which_the_best_other_method_diverged():
    """On the last problem, the seeds except 3 choose η = 1, which diverged at seed 3."""
    tuned = [run for n in NODES for run in runs("dsgd", 85.0, 0.1, nodes=n)]
    tuned += runs("dsgd", 95.0, 1.0, gone=lambda _, at: at == 3, nodes=12)
    some = [*(run for n in NODES for run in runs("dnasa", 90.0, nodes=n)), *tuned]
    *_, average, left_out = said(made(some), "dnasa")
    assert mentions(average, "4 problems", "5.00 points above")
    assert mentions(left_out, "1 problem ", "other method diverged", "nodes 12")


def test_many_left_out_problems_are_only_counted():
    some = [
        run
        for nodes in range(4, 12)
        for algo, accuracy in (("dnasa", 90.0), ("dsgd", 85.0))
        for run in runs(algo, accuracy, gone=always if algo == "dsgd" and nodes < 8 else never, nodes=nodes)
    ]
    *_, left_out = said(made(some), "dsgd")
    assert mentions(left_out, "4 problems ", "D-SGD diverged.")


def test_the_reference_is_also_the_best_where_all_others_diverged():
    """D-SGT is best on two problems, D-SGD on one, and D-SGT diverged on two more."""
    ends = {4: (80.0, 70.0), 6: (70.0, 80.0), 8: (70.0, 80.0), 10: (80.0, None), 12: (80.0, None)}
    some = [
        run
        for nodes, both in ends.items()
        for algo, accuracy in zip(("dsgd", "dsgt"), both, strict=True)
        for run in runs(algo, accuracy or 0.0, 0.1, gone=never if accuracy else always, nodes=nodes)
    ]
    assert reference(made(some)) == "dsgd"


def test_a_method_without_the_metric_is_not_called_diverged():
    lacking = [{**run, "accuracy": None} for run in runs("dsgd", 85.0)]
    assert said(made([*runs("dnasa", 90.0), *lacking])) == []


def test_a_diverged_reference_is_named_beside_the_two_best():
    three = [*runs("dnasa", 90.0), *runs("dsgd", 85.0, 0.1), *runs("dsgt", 80.0, 0.1, gone=always)]
    (sentence,) = said(made(three), "dsgt")
    assert mentions(sentence, "D-NASA reaches", "D-SGD (η = 0.1) ends at 85.20 %", "D-SGT diverged.")


def test_of_many_diverged_methods_two_are_named():
    many = [run for k in range(5) for run in runs(f"trial{k}", 80.0, 0.1, gone=always)]
    (sentence,) = said(made([*runs("dnasa", 90.0), *many]), "trial3")
    assert mentions(sentence, "D-NASA reaches", "(5 seeds); trial3, trial0 and 3 more methods")


def test_a_method_without_common_seeds_is_not_among_those_that_diverged():
    """On the last problem, two methods diverged and a third was run with another seed."""
    both = [run for algo in ("dsgd", "dsgt") for run in runs(algo, 80.0, gone=always)]
    sentence, note = said(made([*both, {"algo": "dnasa", "seed": 9, "end": 0.1, "accuracy": 90.0}]))
    assert mentions(sentence, "a9a, ring", "D-SGD and D-SGT.")
    assert note.endswith(": D-NASA.")
