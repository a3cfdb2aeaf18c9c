import pytest
import yaml

from bench.base.board import BOARD


@pytest.fixture
def small(tmp_path):
    """The folder of a board with two small workloads, three entrants and two references."""
    raw = yaml.safe_load((BOARD / "board.yaml").read_text("utf-8"))
    easy = {"dataset": "quadratics", "dataset.dimension": 3, "batch_size": 1, "topology": "ring", "dtype": "float64"}
    raw["workloads"] = {
        name: {"stratum": "D", "budget": 20, "set": {**easy, "nodes": nodes}} for name, nodes in (("A", 4), ("B", 5))
    }
    raw["dev"] = {"V": {"stratum": "V", "budget": 10, "set": {**easy, "nodes": 3}}}
    raw["entrants"] = {name: raw["entrants"][name] for name in ("dsgd", "dsgt", "dnasa")}
    raw["bounds"] = {name: raw["bounds"][name] for name in ("pooled_dsgd", "pooled_storm")}
    raw["grid"]["follow"], raw["schedules"], raw["side"] = [0.1, 0.3], ["fixed"], {}
    raw["hidden"]["workloads"] = ["A"]
    raw["seeds"] = {"tune": [0, 1], "report": [100], "gate": [0, 1, 2]}
    folder = tmp_path / "board" / "v1"
    folder.mkdir(parents=True)
    (folder / "board.yaml").write_text(yaml.safe_dump(raw), encoding="utf-8")
    return folder
