"""Which methods, engines, graphs and networks go together, and what a configuration makes of them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.base.errors import Misfit, UserError
from bench.build.events import events_of, tape_of
from bench.build.manifest import describe
from bench.build.rates import network_of, rates_of
from bench.clock.choice import network_with
from bench.engine.engines import engine_of
from bench.store.run_folder import RunFolder
from bench.store.software import differing
from bench.sweep.groups import program
from tests.algorithms.asynchronous.runs import LAN, config
from tests.helpers.configs import rows

MEASURED = "title: mine\nsource: mine\nlinks: {latency_ms: 1, bandwidth_mbps: 10}\ncompute: {gradient_ms: measured}\n"


def rejected(config):
    """The sentence with which the engine rejects a run."""
    with pytest.raises(UserError) as error:
        engine_of(config).check(config)
    return str(error.value)


@pytest.mark.parametrize("engine", ["mpi", "stacked"])
def test_asynchronous_methods_need_their_engine(engine):
    assert "engine=events" in rejected(config("swift", engine=engine))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"algo": "dsgd", "network": "none"}, ("dsgd", "engine=stacked")),
        ({"algo": "dsgd", "network": {**LAN, "drop": 0.1}, "engine": "stacked"}, ("drop=0.1", "links=lossy")),
        ({"algo": "swift", "network": "none"}, ("network=lan",)),
        ({"algo": "swift", "links": "lossy"}, ("links=lossy", "network.drop")),
        ({"algo": "swift", "topology": "one_peer_exponential", "nodes": 8}, ("one_peer_exponential", "topology=ring")),
        ({"algo": "osgp", "topology": "matching"}, ("matching", "topology=ring")),
        ({"algo": "adpsgd", "topology": "directed_ring"}, ("directed_ring", "topology=ring")),
        ({"algo": "acid", "topology": "directed_ring"}, ("directed_ring", "topology=ring")),
        ({"algo": "adpsgd", "nodes": 7}, ("bipartite", "7")),
        ({"algo": "adpsgd", "topology": "complete"}, ("bipartite", "3")),
        ({"algo": "swift", "network": {**LAN, "slow_node": 6}}, ("slow_node=6",)),
        ({"algo": "swift", "network": {**LAN, "slow": 1e-9}}, ("network.slow=1e-09", "10000")),
        *(
            ({"algo": name, "network": {**LAN, "drop": 0.1}}, ("network.drop=0.1", name))
            for name in ("adpsgd", "osgp", "acid")
        ),
    ],
)
def test_bad_pairs_are_rejected(changes, words):
    sentence = rejected(config(**changes))
    assert all(word in sentence for word in words), sentence
    assert sentence.endswith(".")


def test_a_network_without_a_compute_time_is_rejected(tmp_path):
    (tmp_path / "mine.yaml").write_text(MEASURED)
    network = {"name": "file", "path": str(tmp_path / "mine.yaml")}
    assert "network.gradient_ms" in rejected(config("swift", network=network))
    good = config("swift", network={**network, "gradient_ms": 2.0})
    engine_of(good).check(good)


@pytest.mark.parametrize("name", ["swift", "osgp", "rasgp", "asy_sonata"])
def test_messages_may_go_one_way(name):
    good = config(name, topology="directed_ring", nodes=7)
    engine_of(good).check(good)


def test_runs_on_different_graphs_are_not_one_program():
    runs = [config("swift", topology=topology) for topology in ("ring", "path")]
    assert program(runs[0]) != program(runs[1])
    assert program(runs[0]) == program(config({"name": "swift", "eta": 0.3}, seed=5))
    assert program(runs[0]) != program(config("swift", network={**LAN, "seed": 1}))
    ring, path = rows(runs[0])[0], rows(runs[1])[0]
    assert ring[-1]["bytes"] > path[-1]["bytes"]


def pairs(c):
    (met,) = [row["rounds"] for row in rows(c)[0][-1:]]
    return met


def test_the_rate_of_acid_is_that_of_its_meetings():
    slow = {**LAN, "gradient_ms": 50.0}  # so that exchanges seldom wait for each other
    few, many = (pairs(config({"name": "acid", "rate": rate}, network=slow, steps=60)) for rate in (1, 4))
    assert few == pytest.approx(60, rel=0.3)
    assert many == pytest.approx(240, rel=0.2)


def test_other_work_of_a_node_is_part_of_its_pace(tmp_path):
    text = MEASURED.replace("{gradient_ms: measured}", "{gradient_ms: 2, other_ms: 6, slow_node: 1, slow_factor: 5}")
    (tmp_path / "mine.yaml").write_text(text)
    events = events_of(config("adpsgd", network={"name": "file", "path": str(tmp_path / "mine.yaml")}))
    np.testing.assert_allclose(events._paces, [1, 2, 1, 1, 1, 1])


MINE = "links: {{latency_ms: {}, bandwidth_mbps: 10}}\ncompute: {{gradient_ms: 5}}\n"


@pytest.fixture
def own(tmp_path):
    """A network file, and a function that replaces its content."""
    path = tmp_path / "mine.yaml"
    write = lambda latency: path.write_text(MINE.format(latency))  # noqa: E731
    write(1)
    return {"name": "file", "path": str(path)}, write


def test_a_run_never_has_the_events_of_an_edited_network_file(own):
    network, write = own
    first, later = (config("swift", network=network) for _ in range(2))
    tape = {each.run_id: tape_of(each, 10).hash() for each in (first, later)}[first.run_id]
    network_with.cache_clear()
    unread = config("swift", network=network, steps=30)
    assert unread.run_id
    write(100)
    with pytest.raises(UserError, match=r"mine\.yaml"):
        tape_of(unread, 10)
    with pytest.raises(UserError, match=r"mine\.yaml"):
        rates_of(unread)
    edited = config("swift", network=network)
    assert edited.run_id != first.run_id
    assert tape_of(edited, 10).hash() != tape


def test_a_forced_run_fails_if_its_network_file_was_edited(own, tmp_path):
    network, write = own
    folder = RunFolder(config("swift", network=network, results=str(tmp_path), force=True))
    write(100)
    folder.config = replace(folder.config, force=False)
    assert folder.claim()
    with pytest.raises(UserError, match=folder.path.name):
        folder.begin({})
    folder.release()


def test_a_checkpoint_of_other_events_is_not_resumed(tmp_path):
    folder = RunFolder(config("swift", results=str(tmp_path)))
    assert folder.claim()
    folder.begin({})
    folder.learn({"tape": "1" * 64})
    folder.begin({}, 10, [{"step": 10}])
    folder.learn({"tape": "1" * 64})
    with pytest.raises(Misfit):
        folder.learn({"tape": "2" * 64})
    folder.begin({})
    folder.learn({"tape": "2" * 64})
    folder.release()


def test_runs_with_other_contents_of_one_network_file_are_told_apart(own):
    network, write = own
    first = config("swift", network=network)
    made, labels = describe(first), first.labels()
    write(100)
    second = config("swift", network=network, seed=1)
    (name,) = differing(("swift", each) for each in (made, describe(second)))
    assert name.startswith("network/file-")
    other = {key for key, value in second.labels().items() if labels[key] != value}
    assert other == {"run_id", "seed", "network.content"}
    assert "network.content" not in config("swift", network=LAN).labels()


def test_slow_overrides_the_slow_node_of_a_network_file(own):
    network, _ = own
    plain = {slow: config("swift", network={**network, "slow": slow}).run_id for slow in (None, 1.0)}
    assert plain[None] == plain[1.0] == config("swift", network=network).run_id
    path = Path(network["path"])
    path.write_text(path.read_text().replace("5}", "5, slow_node: 2, slow_factor: 4}"))
    given = {slow: config("swift", network={**network, "slow": slow}) for slow in (None, 1.0, 3.0)}
    computes = {slow: network_of(each).compute for slow, each in given.items()}
    assert [(each.slow_node, each.slow_factor) for each in computes.values()] == [(2, 4.0), (None, 1.0), (0, 3.0)]
    assert len({each.run_id for each in given.values()}) == 3
