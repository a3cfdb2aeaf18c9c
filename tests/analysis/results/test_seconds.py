"""The column of seconds on a network."""

from types import SimpleNamespace

import numpy as np
import pytest

from analysis.results import from_wandb
from analysis.results.errors import NoData
from analysis.results.labels import metric_name
from analysis.results.results import NETWORK_S
from analysis.results.seconds import on_network
from bench.clock import Compute, Network, load_network, seconds
from bench.clock.stored import costs_of_run
from tests.helpers.mentions import mentions
from tests.helpers.timed import expected, fact, pair, slow, timed


def sites(count: int) -> Network:
    """A network with so many sites, which nodes do not share."""
    links = np.full((count, count), 0.01)
    return Network("few", links, 1e8 * links, tuple(f"s{i}" for i in range(count)), compute=Compute(0.001))


def test_the_seconds_of_a_run_follow_from_its_costs():
    results, sentences = on_network(pair(), slow())
    assert sentences == []
    for _, rows in results.rows.groupby("run_id"):
        np.testing.assert_allclose(rows[NETWORK_S], [0, expected(200), expected(400)], rtol=1e-9)
    assert "slow links" in metric_name(NETWORK_S, results)
    assert NETWORK_S not in results.measures


def test_a_second_round_costs_a_second_latency():
    made = timed([{"algo": "dsgd"}], rounds=2)
    once = expected(400)
    results, _ = on_network(made, slow())
    # the same bytes in twice as many messages
    np.testing.assert_allclose(results.rows[NETWORK_S].max(), once + 400 * 0.010, rtol=1e-9)


def test_runs_with_too_many_nodes_are_left_out_and_named():
    made = timed([{"algo": "dsgd"}, {"algo": "dsgt"}])
    made.runs.loc[1, "nodes"] = 12
    results, (sentence,) = on_network(made, sites(8))
    assert mentions(sentence, "few", "run1", "8", "12")
    untimed = results.rows.groupby("run_id")[NETWORK_S].apply(lambda values: values.isna().all())
    assert untimed.to_dict() == {"run0": False, "run1": True}
    with pytest.raises(NoData, match="run0"):
        on_network(made, sites(4))


def test_runs_without_counts_are_left_out_and_named():
    made = pair()
    made.rows.loc[made.rows["run_id"] == "run3", "bytes"] = np.nan
    made.facts["run4"] = {**fact(), "algorithm": {}}
    results, sentences = on_network(made, slow())
    assert sorted(len([run for run in ("run3", "run4") if run in text]) for text in sentences) == [1, 1]
    assert set(results.rows.loc[results.rows[NETWORK_S].isna(), "run_id"]) == {"run3", "run4"}
    assert any(mentions(text, "run3", "bytes") for text in sentences)


def test_invalid_labels_leave_out_their_run():
    made = pair()
    made.runs["seed"] = made.runs["seed"].astype(object)
    made.runs.loc[0, "seed"] = "first"
    _, (sentence,) = on_network(made, slow())
    assert mentions(sentence, "run0", "first")


def test_long_lists_of_runs_are_shortened():
    made = pair()
    made.rows["bytes"] = made.rows["bytes"].where(made.rows["run_id"] == "run9")
    _, (sentence,) = on_network(made, slow())
    assert mentions(sentence, "9 runs", "run0", "run2", "6 more")


def test_runs_read_from_wandb_have_the_same_seconds(monkeypatch):
    made = pair()
    runs = []
    for labels in made.runs.to_dict("records"):
        own = made.facts[labels["run_id"]]
        config = {**labels, "algorithm": own["algorithm"], "edges": own["mixing"]["edge_list"]}
        config["certificate"] = {"period": 1, "rho": 0.8}
        rows = made.rows[made.rows["run_id"] == labels["run_id"]].drop(columns=["run_id", "test_accuracy"])
        entries = rows.dropna(axis=1).to_dict("records")
        history = {"summary": {"state": "done"}, "state": "finished", "history": lambda entries=entries, **_: entries}
        runs.append(SimpleNamespace(config=config, **history))
    monkeypatch.setattr(from_wandb, "unreachable", lambda: None)
    monkeypatch.setattr(from_wandb.wandb, "Api", lambda **_: SimpleNamespace(runs=lambda *_, **__: runs))
    back, here = (on_network(one, slow())[0].rows for one in (from_wandb.load_wandb("me/project"), made))
    both = here.merge(back, on=["run_id", "step"], suffixes=("", "_back"))
    assert len(both) == len(here)
    np.testing.assert_array_equal(both[NETWORK_S], both[f"{NETWORK_S}_back"])


def test_the_committed_archive_has_seconds_on_eight_cities(archived):
    run = archived.runs["run_id"].iloc[0]
    results, sentences = on_network(archived, load_network("cities8"))
    assert sentences == []
    rows = results.rows[results.rows["run_id"] == run]
    labels = archived.runs.iloc[0].to_dict()
    costs = costs_of_run(labels, archived.facts[run], {name: rows[name].to_numpy() for name in ("step", "bytes")})
    np.testing.assert_array_equal(rows[NETWORK_S], seconds(costs, load_network("cities8")).slowest)
    # one round per step: at least the slowest link of the ring, Seoul to London, in almost every step
    assert rows[NETWORK_S].iloc[-1] / rows["step"].iloc[-1] == pytest.approx(0.24, rel=0.02)


@pytest.fixture(scope="module")
def archived():
    from analysis.results.read import read
    from bench.base.home import ROOT

    everything = read(ROOT / "reproduction" / "archive")
    labels = [("dataset", ["a9a"]), ("topology", ["ring"]), ("nodes", ["8"]), ("steps", ["5001"]), ("algo", ["dsgd"])]
    return everything.where([*labels, ("seed", ["0"]), ("eval_every", ["100"]), ("scale", ["1"])])
