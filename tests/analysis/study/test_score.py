"""The score of a run, against hand-made numbers and a literal loop."""

import math

import numpy as np
import pytest

from analysis.study.score import BANDWIDTH, GRADIENTS, LATENCY, Price, costs_to_reach, score, targets, yardstick

MISSED = 200.0


def costs(spent, losses, start=8.0, reference=0.0, count=4, **more):
    spent, losses = np.array(spent, dtype=float), np.array(losses, dtype=float)
    return costs_to_reach(spent, losses, start, reference, budget=MISSED / 2, count=count, **more)


def literal(spent, losses, start, reference, budget, count, beyond=0, lasting=False):
    """The same rule in plain Python."""
    out = []
    least = (start - reference) / 2 ** (count + beyond)
    for k in range(1, count + 1):
        wanted, cost = (start - reference) / 2**k, 2 * budget
        for i in range(1, len(spent)):
            later = losses[i:] if lasting else losses[i : i + 1]
            if all(loss <= reference + wanted for loss in later):
                high, low = losses[i - 1] - reference, max(losses[i] - reference, least)
                cost = spent[i]
                if spent[i - 1] > 0:
                    part = (math.log(high) - math.log(wanted)) / (math.log(high) - math.log(low))
                    cost = math.exp(math.log(spent[i - 1]) * (1 - part) + math.log(spent[i]) * part)
                break
        out.append(cost)
    return out


def test_targets_halve_the_distance():
    assert targets(9.0, 1.0, count=3).tolist() == [5.0, 3.0, 2.0]
    assert len(targets(1.0, 0.0)) == 8


def test_costs_at_evaluations_and_misses():
    assert costs([0, 10, 20, 40], [8, 4, 2, 1.5]) == pytest.approx([10, 20, MISSED, MISSED])


def test_interpolates_logarithms():
    """From 4 to 1 the distance halves twice, while the cost quadruples: target 2 is halfway, at the geometric mean."""
    assert costs([0, 10, 40], [8, 4, 1]) == pytest.approx([10, 20, 40, MISSED])


@pytest.mark.parametrize(("beyond", "lasting"), [(0, False), (1, False), (1, True)])
def test_agrees_with_a_literal_loop(beyond, lasting):
    g = np.random.default_rng(0)
    for _ in range(50):
        spent = np.append(0, np.geomspace(1, 2000, 20))
        losses = 1.7 + 5 * np.exp(-np.linspace(0, g.uniform(1, 8), 21)) + g.uniform(-0.2, 0.2, 21)
        losses[0] = start = 6.9
        found = costs_to_reach(spent, losses, start, 1.65, budget=2000, beyond=beyond, lasting=lasting)
        assert found == pytest.approx(literal(spent, losses, start, 1.65, 2000, 8, beyond, lasting), rel=1e-12)


def test_a_loss_below_the_reference_counts_as_the_last_target():
    assert costs([0, 10, 160], [8, 8, -1]) == pytest.approx([20, 40, 80, 160])


def test_the_cost_of_the_last_target_is_interpolated():
    """From 2 to 1/4 the distance halves three times, while the cost grows eightfold: target 4 is at twice the cost."""
    assert costs([0, 10, 80], [8, 2, 0.25], beyond=1)[2:] == pytest.approx([20, 40])
    assert costs([0, 10, 80], [8, 2, 0.25])[-1] == 80
    assert costs([0, 10, 80], [8, 2, -5], beyond=2) == pytest.approx(costs([0, 10, 80], [8, 2, 0.125], beyond=2))


def test_a_run_that_starts_below_a_target_pays_the_first_positive_cost():
    assert costs([0, 3, 9], [3, 3, 3], start=8) == pytest.approx([3, MISSED, MISSED, MISSED])
    assert costs([0], [3], start=8)[0] == 0.0


def test_only_the_first_time_below_a_target_counts():
    assert costs([0, 10, 20], [8, 4, 7])[0] == 10


def test_a_target_that_lasts_is_reached_when_the_loss_stays_below():
    """Targets 4 and 2: the loss falls to 1, rises to 3 and falls again."""
    spent, losses = [0, 10, 20, 40, 80], [8, 1, 3, 3, 1]
    assert costs(spent, losses)[:2] == pytest.approx([10, 10])
    lasting = costs(spent, losses, lasting=True)
    assert lasting[0] == 10  # 3 is still below 4; nothing to interpolate from
    assert lasting[1] == pytest.approx(40 * 2 ** (np.log(3 / 2) / np.log(3)))
    assert costs([0, 10, 20], [8, 1, np.nan], lasting=True).tolist() == [MISSED] * 4


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nonfinite_losses_reach_no_target(bad):
    assert costs([0, 10, 20], [8, bad, bad]).tolist() == [MISSED] * 4
    assert costs([0, 10, 20], [8, bad, 4])[0] == 20  # nothing to interpolate from


def test_a_diverged_run_misses_all_targets():
    assert costs([0, 10, 20], [8, 1, 1e9], diverged=True).tolist() == [MISSED] * 4


def test_rejects_a_reference_above_the_start():
    with pytest.raises(ValueError, match="8"):
        costs([0, 1], [8, 4], reference=8.0)


def test_score_of_a_hand_made_table():
    reference = yardstick(np.array([[10.0, 40.0], [20.0, 80.0], [90.0, 10.0]]))
    assert reference.tolist() == [20.0, 40.0]
    assert score(np.array([10.0, 80.0]), reference) == 0.0
    assert score(np.array([5.0, 40.0]), reference) == 1.0
    assert score(np.array([1e-9, 40.0]), reference) == 1.5  # bounded by 3 at each target
    assert score(np.array([1e9, 1e9]), reference) == -3.0


def test_prices():
    per_node = np.array([100.0]), np.array([10.0]), np.array([1e6])
    assert GRADIENTS.of(*per_node).tolist() == [1.0]
    assert LATENCY.of(*per_node) == pytest.approx([1.0 + 0.5 + 0.008])
    assert BANDWIDTH.of(*per_node) == pytest.approx([1.0 + 0.05 + 0.4])
    assert Price(1.0, 2.0, 4.0).of(*(np.ones(1),) * 3).tolist() == [3.25]
