"""Seconds of runs on the network of each run."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.figures.curves import draw
from analysis.results.errors import NoData
from analysis.results.results import NETWORK_S
from analysis.results.seconds import has_networks, on_network, on_own_networks
from analysis.study.figure_options import FigureOptions
from analysis.tables.network_times import OWN, make
from bench.base.errors import UserError
from bench.base.options import attribute_options
from bench.clock import load_network, network_of_run, seconds
from bench.clock.choice import content_of
from bench.clock.stored import costs_of_run
from tests.helpers.mentions import mentions
from tests.helpers.timed import slow, timed

LAN = {"network": "lan", "network.slow_node": 0.0, "network.seed": 3.0}


def both(*also):
    """D-SGD and an asynchronous method, on a local network whose node 0 is 1 and 4 times as slow."""
    rows = [{"algo": algo, **LAN, "network.slow": factor} for algo in ("dsgd", "swift") for factor in (1.0, 4.0)]
    found = timed([*rows, *also])
    for run in ("run2", "run3"):
        found.facts[run]["algorithm"]["events"] = "messages"
    waits = found.rows["run_id"].isin(["run2", "run3"])
    return replace(found, rows=found.rows.assign(virtual_s=np.where(waits, 0.005 * found.rows["step"], np.nan)))


def test_runs_have_the_time_of_their_own_network():
    found, sentences = on_own_networks(both())
    assert sentences == []
    ends = found.rows.groupby("run_id")[NETWORK_S].max()
    for run, factor in (("run0", 1), ("run1", 4)):
        network = load_network("lan")
        network = network.changed(compute=replace(network.compute, slow_node=0, slow_factor=factor))
        labels = found.runs.set_index("run_id", drop=False).loc[run].to_dict()
        rows = found.rows[found.rows["run_id"] == run]
        costs = costs_of_run(labels, found.facts[run], {name: rows[name] for name in ("step", "bytes")})
        assert ends[run] == pytest.approx(seconds(replace(costs, seed=3), network).slowest[-1], rel=1e-12)
    assert ends["run1"] > 3 * ends["run0"]
    assert ends["run2"] == ends["run3"] == 2.0


def test_a_network_that_was_edited_since_the_run_gives_no_time():
    made, own = both(), network_of_run({**LAN, "network.slow": 4.0})
    options = {name: getattr(own, name) for name in attribute_options(type(own))}
    made.facts["run0"]["sources"] = {"network/lan-1a2b3c4d": "0123456789abcdef"}
    made.facts["run1"]["sources"] = {"network/lan-1a2b3c4d": content_of("lan", options)}
    found, (sentence,) = on_own_networks(made)
    assert mentions(sentence, "run0", "network=lan", "--network lan")
    assert found.rows.loc[found.rows[NETWORK_S].isna(), "run_id"].unique().tolist() == ["run0"]


def test_a_run_without_a_network_is_named_if_others_have_one():
    assert has_networks(both())
    assert not has_networks(timed([{"algo": "dsgd"}]))
    with pytest.raises(NoData) as raised:
        on_own_networks(both({"algo": "dsgt"}))
    assert mentions(str(raised.value), "run4", "network=lan", "--network")


def test_asynchronous_runs_have_no_time_on_another_network():
    found, (sentence,) = on_network(both(), slow())
    assert mentions(sentence, "run2", "run3", "virtual_s")
    assert found.rows.loc[found.rows[NETWORK_S].isna(), "run_id"].unique().tolist() == ["run2", "run3"]


def test_curves_have_a_row_per_network_and_the_table_the_times():
    found, _ = on_own_networks(both())
    picture = draw(found, FigureOptions(x=NETWORK_S, metrics=("train_loss",)))
    assert [ax.get_ylabel().splitlines()[1] for ax in picture.figure.axes] == ["slow factor 1", "slow factor 4"]
    assert picture.runs == {"run0", "run1", "run2", "run3"}
    table = make(both(), FigureOptions())
    assert table.data.set_index(["network.slow", "algo"])[OWN][4.0, "swift"] == 1.0


@pytest.mark.parametrize("labels", [{"network": "lann"}, {"network": "lan", "network.slow": -2.0}])
def test_rejects_invalid_networks_of_a_run(labels):
    with pytest.raises(UserError, match=r"lann|-2"):
        network_of_run(labels)


def test_a_run_without_a_label_has_no_network():
    assert network_of_run({}) is network_of_run({"network": "none"}) is network_of_run({"network": np.nan}) is None
    own = network_of_run({**LAN, "network.slow": 4.0, "network.jitter": np.nan})
    assert (own.seed, own.network().compute.slow_factor) == (3, 4.0)


def test_the_network_file_of_a_stored_run_is_not_opened(tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("password\nhunter2\n")
    with pytest.raises(UserError) as error:
        network_of_run({"network": "file", "network.path": str(secret)})
    assert "password" not in str(error.value)


@pytest.mark.parametrize("label", [{"nodes": 20_000}, {"network.seed": "x"}])
def test_one_run_with_forged_labels_does_not_stop_the_others(label):
    results = both({"algo": "dsgt", **LAN, "network.slow": 1.0})
    runs = results.runs.astype(dict.fromkeys(label, object))
    for name, value in label.items():
        runs[name] = [
            value if run == "run4" else before for run, before in zip(runs["run_id"], runs[name], strict=True)
        ]
    found, (sentence,) = on_own_networks(replace(results, runs=runs))
    assert "run4" in sentence
    assert found.rows.loc[found.rows[NETWORK_S].isna(), "run_id"].unique().tolist() == ["run4"]
