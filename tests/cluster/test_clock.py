"""The clock against real time: MPI ranks on machines whose messages a relay delays, compared with the prediction."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

from bench.clock import Compute, costs_of_run, seconds, uniform
from tests.cluster.hosts import Hosts
from tests.cluster.test_hosts import LAUNCH, ranks_on, results, until
from tests.helpers.cli import ROOT

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(200), pytest.mark.xdist_group("hosts")]
FIXED = (
    *("dataset=digits", "model=mlp", "nodes=3", "ranks=3", "engine=mpi", "tracker=none"),
    *("steps=12", "eval_every=4", "dtype=float32"),
)
METHODS = ("dsgd", "dnasa", "gt_nsgdm")
SKIPPED = 1
"""Evaluations that are not measured: the relay changes its setting and TCP its window."""


TOLERANCE = 0.3
"""Twice the aim of docs/time.md: a busy machine adds its own milliseconds to every round."""


class Setting(NamedTuple):
    """A latency and a rate of the relay, and the hidden units of the perceptron that is trained with it."""

    latency_ms: float
    rate_mbps: float
    hidden: int


SETTINGS = (Setting(60, 1000, 13), Setting(40, 20, 160), Setting(2, 20, 400))
"""Mostly latency, both, and mostly transfer."""


class Comparison(NamedTuple):
    """Seconds per step of one method with one setting."""

    setting: Setting
    method: str
    measured: float
    predicted: float
    communicating: float  # the fraction of the measured time


def compare(path: Path, setting: Setting) -> Comparison:
    """Return the measured and the predicted time per step of a run, in its fastest interval between evaluations.

    Other programs on this machine only make an interval longer.
    """
    rows, labels, manifest = (
        pd.read_parquet(path / "metrics.parquet"),
        json.loads((path / "summary.json").read_text()),
        json.loads((path / "manifest.json").read_text()),
    )
    costs = costs_of_run(labels, manifest, {name: rows[name].to_numpy() for name in rows})
    network = uniform(setting.latency_ms, setting.rate_mbps, compute=Compute(gradient_s=None))
    steps = rows["step"].diff()
    spent = ((rows["wall_s"] - rows["eval_s"]).diff() / steps)[1 + SKIPPED :].min()
    communicated = (rows["comm_s"].diff() / steps)[1 + SKIPPED :].min()
    predicted = (pd.Series(seconds(costs, network).slowest).diff() / steps)[1 + SKIPPED :].min()
    return Comparison(setting, labels["algo"], spent, predicted, communicated / spent)


def test_predicts_the_time_of_real_ranks(machines: Hosts, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The ranks start once. The relay changes its setting when all runs with the setting before have ended."""
    relay = tmp_path / "relay"
    relay.write_text("0 100000")
    (tmp_path / "hosts").write_text("h1\nh2\nh3\n")
    hidden = ",".join(str(setting.hidden) for setting in SETTINGS)
    words = (f"model.hidden={hidden}", f"algo={','.join(METHODS)}", *FIXED, LAUNCH)
    command = [sys.executable, str(ROOT / "bench" / "run.py"), "-m", *words]
    with machines.relayed(relay):
        process = machines.start_in("h1", command, tmp_path, PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1")
        until(lambda: ranks_on(machines, "h3"), process)
        while process.poll() is None:
            done = len(results(tmp_path, "metrics.parquet"))
            setting = SETTINGS[min(done // len(METHODS), len(SETTINGS) - 1)]
            relay.write_text(f"{setting.latency_ms} {setting.rate_mbps}")
            time.sleep(0.05)
        out, err = process.communicate()
    assert process.returncode == 0, out + err
    sizes = {setting.hidden: setting for setting in SETTINGS}
    found = []
    for path in results(tmp_path, "summary.json"):
        setting = sizes[json.loads(path.read_text())["model.hidden"]]
        found.append(compare(path.parent, setting))
    with capsys.disabled():
        for one in sorted(found):
            print(
                f"\n{one.setting} {one.method}: measured {one.measured:.4f} s, predicted {one.predicted:.4f} s, "
                f"{one.predicted / one.measured - 1:+.0%}, communication {one.communicating:.0%}",
                end="",
            )
    assert len(found) == len(SETTINGS) * len(METHODS)
    for one in found:
        assert one.communicating > 0.5
        assert one.predicted == pytest.approx(one.measured, rel=TOLERANCE), one
