"""Costs of stored runs: counted, declared, compressed, on any graph; and the answers if counts are missing."""

import numpy as np
import pytest

from bench.base.errors import UserError
from bench.build.manifest import describe_network
from bench.build.network import mixing_of, properties_of
from bench.clock import Compute, costs_of_method, costs_of_run, seconds, uniform
from bench.clock.stored import _message_bits
from tests.bench.clock.literal import times
from tests.helpers.configs import config, rows

NETWORK = uniform(10, 1, compute=Compute(0.001))


def stored(steps=(0, 20, 50), vectors=1.0, rounds=1, **settings):
    """Return labels, manifest and rows of a run as its costs are counted."""
    made = config(**settings)
    mixing, n = mixing_of(made), made.nodes
    copies = [sum(mixing.bill(r, r // rounds)[1] for r in range(rounds * step)) for step in steps]
    counts = {
        "step": np.array(steps),
        "rounds": np.array(steps) * float(rounds),
        "gradients": np.array(steps) * float(n * made.batch_size),
        "bytes": np.array(copies) * vectors / rounds * 100 * 4.0,
    }
    manifest = {"mixing": describe_network(made), "algorithm": {"name": "dsgd", "rounds": rounds, "samples": 1}}
    return made.labels(), manifest, counts, mixing


@pytest.mark.parametrize(
    "settings",
    [
        {"topology": {"name": "ring"}},
        {"topology": {"name": "all_reduce"}},
        {"topology": {"name": "alone"}},
        {"topology": {"name": "one_peer_exponential"}},
        {"topology": {"name": "matching"}},
        {"topology": {"name": "random_each_round", "p": 0.4}, "seed": 5},
        {"topology": {"name": "ring"}, "links": {"name": "lossy", "p": 0.2}, "seed": 2},
        {"topology": {"name": "ring"}, "links": {"name": "outages", "p": 0.2}},
        {"algo": {"name": "sgp"}, "topology": {"name": "directed_exponential"}},
    ],
    ids=str,
)
def test_a_stored_run_has_the_times_of_its_method(settings):
    labels, manifest, rows, mixing = stored(nodes=8, vectors=2.0, rounds=2, **settings)
    costs = costs_of_run(labels, manifest, rows)
    expected = costs_of_method(mixing, [0, 20, 50], 100, rounds=2, vectors=2, seed=labels["seed"])
    network = NETWORK.changed(timeout_s=0.1)
    if mixing.kind == "alone":
        assert costs.bits.tolist() == [0, 0, 0]
    else:
        assert costs.bits == pytest.approx(expected.bits)
    assert (times(costs, network) == times(expected, network)).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"topology": {"name": "ring"}},
        {"topology": {"name": "one_peer_exponential"}},
        {"topology": {"name": "random_each_round", "p": 0.4}},
        {"topology": {"name": "ring"}, "links": {"name": "outages", "p": 0.2}},
    ],
    ids=str,
)
def test_a_run_that_does_not_communicate_in_every_step_has_messages_of_one_size(settings):
    """Of ProxSkip: each message is of the graph of its step, and all have P numbers."""
    made = config(algo="proxskip", nodes=8, steps=60, eval_every=1, dtype="float64", **settings)
    (run,) = rows(made)
    columns = {name: np.array([row[name] for row in run]) for name in ("step", "rounds", "gradients", "bytes")}
    manifest = {"mixing": describe_network(made), "algorithm": {"name": "proxskip", "rounds": 0.2, "samples": 1}}
    costs = costs_of_run(made.labels(), manifest, columns)
    numbers = columns["bytes"][-1] / 8 / sum(mixing_of(made).bill(t, t)[1] for t in talks(columns))
    assert 5 <= columns["rounds"][-1] <= 30
    assert costs.bits == pytest.approx(columns["rounds"] * 64 * numbers)


def talks(columns):
    """The steps with communication."""
    return np.flatnonzero(np.diff(columns["rounds"])).tolist()


@pytest.mark.parametrize("topology", ["edges", "matrix", "directed"])
def test_a_lossy_run_on_a_graph_from_a_file_has_the_times_of_its_method(tmp_path, topology):
    file, settings = tmp_path / "graph.csv", {"links": {"name": "lossy", "p": 0.2}, "seed": 3}
    file.write_text(
        "0 1\n1 2\n2 3\n3 0\n" if topology != "matrix" else ".6 .4 0 0\n.4 .2 .4 0\n0 .4 .2 .4\n0 0 .4 .6\n"
    )
    name = "matrix" if topology == "matrix" else "edges"
    settings["topology"] = {"name": name, "file": str(file)}
    if topology == "directed":
        settings["topology"] |= {"directed": True, "weights": "out_degree"}
        settings["algo"] = {"name": "sgp"}
    labels, manifest, rows, mixing = stored(nodes=4, **settings)
    file.unlink()
    costs, expected = costs_of_run(labels, manifest, rows), costs_of_method(mixing, [0, 20, 50], 100, seed=3)
    network = NETWORK.changed(timeout_s=0.1)
    assert (times(costs, network) == times(expected, network)).all()
    del manifest["mixing"]["edge_list"]
    with pytest.raises(UserError, match=labels["run_id"]):
        costs_of_run(labels, manifest, rows)


def test_an_old_run_has_its_declared_counts():
    labels, manifest, rows, _ = stored()
    manifest["algorithm"] = {"name": "dsgd", "sends": 1, "rounds": 1, "samples": 1}
    old = {name: values if name in ("step", "bytes") else np.full(3, np.nan) for name, values in rows.items()}
    assert (times(costs_of_run(labels, manifest, old), NETWORK) == times(costs_of_run(*stored()[:3]), NETWORK)).all()


def test_bytes_in_single_precision_give_whole_sizes():
    mixing = mixing_of(config())
    rounds = np.arange(0, 10_001, 7)
    exact = rounds * mixing.bill(0)[1] * 8066 * 32.0
    assert (_message_bits(mixing, rounds, rounds, exact.astype(np.float32).astype(float)) == rounds * 8066 * 32.0).all()


def test_compressed_sizes_may_change_during_a_run():
    labels, manifest, rows, mixing = stored(steps=(0, 10, 20))
    rows["bytes"] = np.array([0, 10, 40]) * mixing.bill(0)[1] * 100.0
    assert costs_of_run(labels, manifest, rows).bits.tolist() == [0, 8000, 32000]


def test_the_measured_compute_time():
    labels, manifest, rows, _ = stored()
    network = uniform(0, 1000, compute=Compute(None))
    with pytest.raises(UserError, match="compute_s"):
        seconds(costs_of_run(labels, manifest, rows), network)
    rows["compute_s"] = np.array([0, 2.0, 5.0])
    one = costs_of_run(labels, manifest, rows)
    assert one.gradient_s == pytest.approx(5 / 50 / labels["nodes"])  # one process computes all nodes
    ranks = costs_of_run(labels, {**manifest, "ranks": labels["nodes"]}, rows)
    assert ranks.gradient_s == pytest.approx(5 / 50)
    assert seconds(one, network).slowest[-1] == pytest.approx(5 / labels["nodes"], rel=0.1)
    assert seconds(one, network, gradient_s=1).slowest[-1] == pytest.approx(50, rel=0.1)


@pytest.mark.parametrize("column", ["step", "bytes"])
def test_rejects_a_run_without_a_count(column):
    labels, manifest, rows, _ = stored()
    with pytest.raises(UserError, match=str(labels.get("run_id", "this run"))):
        costs_of_run(labels, manifest, {name: values for name, values in rows.items() if name != column})


def test_rejects_counts_that_nothing_declares():
    labels, manifest, rows, _ = stored()
    for column in ("rounds", "gradients"):
        few = {name: values for name, values in rows.items() if name != column}
        with pytest.raises(UserError, match=column):
            costs_of_run(labels, {**manifest, "algorithm": {}}, few)
    rows["rounds"][1] = np.nan
    with pytest.raises(UserError, match="rounds"):
        costs_of_run(labels, manifest, rows)


def test_rejects_counts_that_decrease():
    labels, manifest, rows, _ = stored()
    rows["gradients"] = rows["gradients"][::-1]
    with pytest.raises(UserError, match="gradients"):
        costs_of_run(labels, manifest, rows)


def test_rejects_two_evaluations_of_one_step():
    labels, manifest, rows, _ = stored()
    with pytest.raises(UserError, match="step"):
        costs_of_run(labels, manifest, {**rows, "step": np.array([0, 20, 20])})


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_rejects_an_invalid_time_per_gradient(wrong):
    with pytest.raises(UserError, match=str(wrong)):
        seconds(costs_of_run(*stored()[:3]), NETWORK, gradient_s=wrong)


def test_rejects_a_run_without_labels():
    labels, manifest, rows, _ = stored()
    with pytest.raises(UserError, match="topology"):
        costs_of_run({**labels, "topology": None}, manifest, rows)


def test_methods_declare_what_the_clock_reads():
    properties = properties_of(config(algo={"name": "gt_nsgdm"}))
    assert (properties.rounds, properties.vectors_per_step) == (2, 2)


def test_rejects_more_nodes_than_memory_has_links_for():
    labels, manifest, rows, _ = stored()
    with pytest.raises(UserError, match="1000000"):
        costs_of_run({**labels, "nodes": 1_000_000}, manifest, rows)


@pytest.mark.parametrize(
    "settings",
    [{"topology": {"name": "matching"}}, {"links": {"name": "lossy", "p": 0.1}}, {"topology": {"name": "ring"}}],
    ids=str,
)
@pytest.mark.parametrize("declared", [1, 1e9])
def test_rejects_more_rounds_than_the_steps_of_a_run_have(settings, declared):
    labels, manifest, rows, _ = stored(**settings)
    rows["rounds"][-1] = 3e7
    network = NETWORK.changed(timeout_s=0.1, loss=0.1)
    with pytest.raises(UserError, match=r"3e\+07|30000"):
        seconds(costs_of_run(labels, {**manifest, "algorithm": {"rounds": declared, "samples": 1}}, rows), network)


def test_rejects_steps_that_take_too_long_one_by_one():
    labels, manifest, rows, _ = stored()
    long = {name: values.astype(float) for name, values in rows.items()}
    for values in long.values():
        values[-1] = values[1] * 5e7
    assert seconds(costs_of_run(labels, manifest, long), NETWORK).slowest[-1] > 1e6
    with pytest.raises(UserError, match="2000000001"):
        seconds(costs_of_run(labels, manifest, long), NETWORK.changed(timeout_s=0.1, loss=0.1))


def test_rejects_a_graph_that_is_too_large_to_build():
    labels, manifest, rows, _ = stored(links={"name": "lossy", "p": 0.1})
    with pytest.raises(UserError, match="9999"):
        costs_of_run({**labels, "nodes": 9999, "topology": "complete"}, manifest, rows)
