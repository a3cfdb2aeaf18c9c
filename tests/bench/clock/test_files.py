"""Network files: those of the suite, a user's own, and their mistakes."""

import os
import re

import numpy as np
import pytest
import yaml

from bench.base.errors import UserError
from bench.clock import StaticGraph, costs_of_method, load_network, network_names, seconds
from tests.helpers.cli import ROOT

PAIRS = "from,to,latency_ms,bandwidth_mbps\n0,1,10,100\n0,2,20,200\n1,2,30,300\n"
LINK = {"latency_ms": 1, "bandwidth_mbps": 100}
SITES = {"sites": ["a", "b", "c"], "pairs": [["a", "b", 1, 10], ["a", "c", 2, 20], ["b", "c", 3, 30]]}


@pytest.fixture
def saved(tmp_path):
    def save(content, name="mine.yaml"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return path

    return save


def test_the_networks_of_the_suite():
    assert network_names() == ["cities8", "datacenter", "edge", "lan", "two_campuses", "wan"]
    for name in network_names():
        network = load_network(name)
        assert network.name == name
        assert network.source
        assert network.timeout_s
        costs = costs_of_method(StaticGraph(8, [(i, (i + 1) % 8) for i in range(8)]), [0, 10], 1000)
        assert seconds(costs, network).slowest[1] > 0


def test_the_page_of_figures_names_the_networks_with_random_times():
    names = ", ".join(f"`{name}`" for name in network_names() if load_network(name).compute.random)
    assert f"random compute times ({names})" in (ROOT / "docs/figures.md").read_text(encoding="utf-8")


def test_eight_cities_by_name():
    network = load_network("cities8")
    tokyo, london = network.sites.index("Tokyo"), network.sites.index("London")
    assert network.latency_s[tokyo, london] == network.latency_s[london, tokyo] == 0.210
    assert network.bandwidth[tokyo, london] == 366e6
    assert network.sites_of(10).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]
    assert np.isfinite(network.latency_s).all()


def test_two_campuses_have_half_of_the_nodes_each():
    network = load_network("two_campuses")
    assert network.sites_of(6).tolist() == [0, 0, 0, 1, 1, 1]
    links = network.links(6)
    source, target = np.array([0, 0]), np.array([1, 5])
    assert links.delays(source, target, 0).tolist() == [1_000_000, 11_000_000]


def test_blocks_with_fewer_nodes_than_sites_use_the_first_sites(saved):
    network = load_network(saved({**SITES, "deal": "blocks", "within": LINK}))
    assert network.sites_of(2).tolist() == [0, 1]
    assert network.sites_of(3).tolist() == [0, 1, 2]
    assert network.sites_of(6).tolist() == [0, 0, 1, 1, 2, 2]


def test_a_merge_is_no_duplicate_key(saved):
    text = "within: &link {latency_ms: 1, bandwidth_mbps: 1}\nlinks: {<<: *link, latency_ms: 5}\n"
    assert load_network(saved(text)).latency_s[0, 0] == 0.005


def test_a_csv_with_each_pair_once_counts_for_both_directions(saved):
    network = load_network(saved(PAIRS, "mine.csv"))
    assert network.sites == ("0", "1", "2")
    assert network.latency_s[1, 2] == network.latency_s[2, 1] == 0.03
    assert network.bandwidth[0, 2] == 200e6


def test_a_csv_with_both_directions(saved):
    both = "from,to,latency_ms,bandwidth_mbps\n# measured today\n1,0,10,100\n0,1,40,50\n"
    network = load_network(saved(both, "mine.csv"))
    assert network.latency_s[1, 0] == 0.01
    assert network.latency_s[0, 1] == 0.04
    path = saved(
        {"sites": [1, 0], "pairs": "mine.csv", "compute": {"gradient_ms": 3, "slow_node": 1, "slow_factor": 2}}
    )
    named = load_network(path)
    assert named.latency_s[0, 1] == 0.01  # the order of the sites is that of the nodes
    assert named.compute.base(2).tolist() == [3e6, 6e6]


def test_options_of_links_and_compute(saved):
    options = {**LINK, "uplink": "separate", "loss": 0.1, "timeout_ms": 200, "tcp_window_mb": 1}
    compute = {"gradient_ms": "measured", "exponential_ms": 2, "lognormal_sigma": 0.5, "other_ms": 3}
    network = load_network(saved({"links": options, "compute": compute}))
    assert (network.uplink, network.loss, network.timeout_s, network.window_bits) == ("separate", 0.1, 0.2, 8e6)
    assert network.compute.gradient_s is None
    assert network.compute.exponential_s == 0.002
    assert network.compute.other_s == 0.003


def test_the_window_limits_one_connection(saved):
    network = load_network(saved({"links": {"latency_ms": 100, "bandwidth_mbps": 1000, "tcp_window_mb": 1}}))
    delay = network.links(2).delays(np.array([0]), np.array([1]), 8e6)
    assert delay.tolist() == [100_000_000 + 200_000_000]  # one window per round trip


def test_each_neighbor_has_a_window_of_its_own(saved):
    network = load_network(saved({"links": {"latency_ms": 100, "bandwidth_mbps": 100, "tcp_window_mb": 1}}))
    source, target = np.array([0, 0]), np.array([1, 2])
    assert network.links(3).delays(source, target, 8e6).tolist() == [300_000_000] * 2  # 40 < 100 / 2 Mbit/s
    source, target = np.zeros(4, int), np.arange(1, 5)
    assert network.links(5).delays(source, target, 8e6).tolist() == [420_000_000] * 4  # 40 > 100 / 4 Mbit/s


def test_the_order_of_the_sites_matters(saved):
    network = load_network(saved(SITES))
    path = costs_of_method(StaticGraph(3, [(0, 1), (1, 2)]), [0, 100], 0)
    slow, fast = seconds(path, network), seconds(path, network.placed([1, 0, 2]))
    assert slow.slowest[1] == pytest.approx(0.3)
    assert fast.slowest[1] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("content", "offending"),
    [
        ({"links": {"latency_ms": -1, "bandwidth_mbps": 1}}, "-1"),
        ({"links": {"latency_ms": 1, "bandwidth_mbps": 0}}, "bandwidth_mbps"),
        ({"links": {"latency_ms": 1}}, "bandwidth_mbps"),
        ({"links": {"latency_s": 1, "bandwidth_mbps": 1}}, "latency_s"),
        ({"links": {"latency_ms": "10 ms", "bandwidth_mbps": 1}}, "'10 ms'"),
        ({"links": {"latency_ms": 1, "bandwidth_mbps": 1e9}}, "1e+09"),
        ({"links": {"latency_ms": True, "bandwidth_mbps": 1}}, "True"),
        ({"links": {**LINK, "uplink": "both"}}, "'both'"),
        ({"links": {**LINK, "loss": 1}}, "loss"),
        ({"links": {**LINK, "loss": 0.1}}, "timeout_ms"),
        ({"links": [1, 2]}, "links"),
        ({"link": LINK}, "'link'"),
        ({"links": LINK, "compute": {"gradient_ms": -5}}, "-5"),
        ({"links": LINK, "compute": {"slow_node": 1, "slow_factor": 0}}, "slow_factor"),
        ({"links": LINK, "compute": {"slow_factor": 2}}, "slow_node"),
        ({"links": LINK, "compute": {"slow_node": 1.5, "slow_factor": 2}}, "1.5"),
        ({"links": LINK, "compute": {"gradient_s": 5}}, "gradient_s"),
        ({**SITES, "links": LINK}, "latency_ms"),
        ({**SITES, "deal": "round_robin"}, "within"),
        ({**SITES, "deal": "evenly", "within": LINK}, "'evenly'"),
        ({**SITES, "pairs": SITES["pairs"][:2]}, "b → c"),
        ({**SITES, "pairs": [*SITES["pairs"], ["b", "a", 1, 1]]}, "c → a"),
        ({**SITES, "pairs": [*SITES["pairs"], ["a", "b", 1, 1]]}, "a → b"),
        ({**SITES, "pairs": [["a", "d", 1, 1]]}, "'d'"),
        ({**SITES, "pairs": [["a", "b", 1]]}, "pair 1"),
        ({**SITES, "pairs": "nowhere.csv"}, "nowhere.csv"),
        ({**SITES, "sites": ["a", "a"]}, "sites"),
        ({"pairs": SITES["pairs"]}, "sites"),
        ("links: [", "YAML"),
        ("links: {latency_ms: 1, bandwidth_mbps: 1, latency_ms: 50}", "'latency_ms'"),
        ("title: a\nlinks: {latency_ms: 1, bandwidth_mbps: 1}\ntitle: b\n", "'title'"),
        ("- 1", "mine.yaml"),
        ("[" * 5000, "mine.yaml"),
        ("title: 2020-99-99\nlinks: {latency_ms: 1, bandwidth_mbps: 1}\n", "mine.yaml"),
        ({**SITES, "pairs": 5}, "mine.yaml"),
        ({**SITES, "sites": 5}, "5"),
        ({**SITES, "sites": [["a"], ["b"], ["c"]]}, "'a'"),
        ({**SITES, "sites": [*range(5000)]}, "5000"),
        ({"links": {**LINK, "uplink": ["a"]}}, "'a'"),
        ("? [1]\n: 2\n", "mine.yaml"),
        ({**SITES, "pairs": "mine.yaml"}, "from"),
    ],
)
def test_rejects_invalid_files(saved, content, offending):
    with pytest.raises(UserError) as error:
        load_network(saved(content))
    assert offending in str(error.value)
    assert "mine.yaml" in str(error.value)


@pytest.mark.parametrize("name", ["../table.csv", "{}/table.csv", "inner/table.csv", "./table.csv", "..", "", "."])
def test_reads_no_pairs_outside_the_folder_of_the_network(tmp_path, name):
    name = name.format(tmp_path)
    for folder in (tmp_path, tmp_path / "here", tmp_path / "here" / "inner"):
        folder.mkdir(exist_ok=True)
        (folder / "table.csv").write_text(PAIRS)
    file = tmp_path / "here" / "mine.yaml"
    file.write_text(yaml.safe_dump({"sites": [0, 1, 2], "pairs": name}))
    with pytest.raises(UserError, match=re.escape(repr(name) if name != ".." else "here")):
        load_network(file)
    file.write_text(yaml.safe_dump({"sites": [0, 1, 2], "pairs": "table.csv"}))
    assert load_network(file).latency_s.shape == (3, 3)


@pytest.mark.parametrize(
    "text", ["root:x:0\ndaemon:x:1\n", "from,to,secret,bandwidth_mbps\n0,1,1,1\n", f"{PAIRS}root:x:0\n"]
)
def test_errors_do_not_quote_a_file_with_other_columns(saved, text):
    with pytest.raises(UserError) as error:
        load_network(saved(text, "mine.csv"))
    assert "latency_ms" in str(error.value) or "row 4" in str(error.value)
    assert not {"root", "daemon", "secret"} & {*re.findall(r"\w+", str(error.value))}


@pytest.mark.parametrize(
    ("text", "offending"),
    [
        ("from,to,latency,bandwidth_mbps\n0,1,1,1\n", "latency"),
        ("from,to,latency_ms,bandwidth_mbps\n0,1,1\n", "row 1"),
        ("from,to,latency_ms,bandwidth_mbps\n", "rows"),
        ("", "columns"),
        (PAIRS.replace("1,2,30,300\n", ""), "1 → 2"),
        (PAIRS.replace("30", "-30"), "-30"),
        (PAIRS.replace("300", "fast"), "'fast'"),
    ],
)
def test_rejects_invalid_tables(saved, text, offending):
    with pytest.raises(UserError) as error:
        load_network(saved(text, "mine.csv"))
    assert offending in str(error.value)


def test_rejects_unknown_names(tmp_path):
    with pytest.raises(UserError, match="cities8"):
        load_network("cities")
    with pytest.raises(UserError, match=r"none\.yaml"):
        load_network(tmp_path / "none.yaml")


def test_rejects_more_nodes_than_sites(saved):
    network = load_network(saved(SITES))
    with pytest.raises(UserError, match=r"3 sites.*8 nodes"):
        seconds(costs_of_method(StaticGraph(8, [(0, 1)]), [1], 1), network)
    assert network.sites_of(2).tolist() == [0, 1]  # fewer nodes are at the first sites
    with pytest.raises(UserError, match="within"):
        network.placed([0, 0]).links(2)
    with pytest.raises(UserError, match="7"):
        network.placed([7])
    with pytest.raises(UserError, match="2 nodes"):
        network.placed([0, 1]).links(3)


def test_rejects_a_slow_node_that_does_not_exist(saved):
    network = load_network(saved({"links": LINK, "compute": {"gradient_ms": 1, "slow_node": 8, "slow_factor": 2}}))
    with pytest.raises(UserError, match="slow_node=8"):
        seconds(costs_of_method(StaticGraph(8, [(0, 1)]), [1], 1), network)


@pytest.mark.parametrize("kind", ["pipe", "folder", "bytes"])
def test_rejects_network_files_that_are_no_text(tmp_path, kind):
    path = tmp_path / "mine.yaml"
    {"pipe": os.mkfifo, "folder": os.mkdir, "bytes": lambda path: path.write_bytes(b"\xff\xfe\xfa")}[kind](path)
    with pytest.raises(UserError, match=r"mine\.yaml"):
        load_network(path)
    (tmp_path / "sites.yaml").write_text("sites: [a, b]\npairs: mine.yaml\n")
    with pytest.raises(UserError, match=r"mine\.yaml"):
        load_network(tmp_path / "sites.yaml")


@pytest.mark.parametrize(("name", "size"), [("mine.yaml", 1 << 21), ("mine.csv", 8 << 30)])
def test_a_large_file_is_not_read(tmp_path, name, size):
    (tmp_path / name).touch()
    os.truncate(tmp_path / name, size)
    with pytest.raises(UserError, match=re.escape(name) + ".* MB"):
        load_network(tmp_path / name)


def test_a_long_cell_is_refused(saved):
    with pytest.raises(UserError, match=r"mine\.csv.*131072"):
        load_network(saved(PAIRS + f"{'a' * 200_000},1,1,1\n", "mine.csv"))


@pytest.mark.parametrize("long", ["", ":1" * 5000])
def test_a_latency_in_base_60_is_no_number(saved, long):
    with pytest.raises(UserError, match=r"links\.latency_ms.*'1:1") as caught:
        load_network(saved(f"links: {{latency_ms: 1:1{long}, bandwidth_mbps: 10}}\n"))
    assert len(str(caught.value)) < 1000


def test_long_names_are_shortened(saved):
    for content in ({"x" * 5000: 1}, {**SITES, "pairs": [["x" * 5000, "a", 1, 1]]}, {**SITES, "pairs": [["x" * 5000]]}):
        with pytest.raises(UserError, match="xxx") as caught:
            load_network(saved(content))
        assert len(str(caught.value)) < 1000


def test_a_wrong_tag_is_refused(saved):
    with pytest.raises(UserError, match=r"mine\.yaml"):
        load_network(saved("links: {latency_ms: !!timestamp x, bandwidth_mbps: 10}\n"))
