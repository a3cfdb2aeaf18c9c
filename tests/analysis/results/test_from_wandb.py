"""Histories of W&B runs, which may contain anything."""

import math
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from analysis.archive import main
from analysis.results.archive import read_archive, write_archive
from analysis.results.from_wandb import WITH_PREFIX
from analysis.results.warnings import unreadable, warnings
from bench.base.account import OF_AGENT
from bench.config.run_config import RunConfig
from bench.store.record import TAKEN
from tests.helpers.mentions import mentions
from tests.helpers.wandb_runs import ROWS, loaded, wandb_run


@pytest.mark.parametrize(
    "entry",
    [
        {"train_loss": "abc"},
        {"train_loss": [1, 2]},
        {"train_loss": {"a": 1}},
        {"train_loss": True},
        {"train_loss": 10**400},
        {"picture": {"_type": "html-file", "path": "x"}},
        {"step": "abc"},
        {"step": None},
        {"step": [1]},
        {"step": 1.5},
        {"step": True},
        {"step": 0},
        {"step": -1},
        {"step": 1 << 31},
    ],
    ids=str,
)
def test_skips_a_wandb_run_with_an_invalid_value_in_its_history(monkeypatch, entry):
    found = loaded(monkeypatch, wandb_run("good"), wandb_run("bad", [ROWS[0], {**ROWS[1], **entry}]))
    assert (found.unreadable, [*found.runs["run_id"]]) == (["bad"], ["good"])
    assert found.rows["train_loss"].dtype == float
    assert mentions(unreadable(found)[0], "bad")


@pytest.mark.parametrize("entry", [{"train_loss": 0.5}, 5, None], ids=str)
def test_skips_a_wandb_run_with_an_entry_that_is_no_evaluation(monkeypatch, entry):
    found = loaded(monkeypatch, wandb_run("good"), wandb_run("bad", [*ROWS, entry]))
    assert (found.unreadable, [*found.runs["run_id"]]) == (["bad"], ["good"])


def test_reads_the_texts_of_wandb_for_numbers_that_are_not_finite(monkeypatch, tmp_path):
    texts = {"train_loss": "Infinity", "test_loss": "-Infinity", "grad_norm": "NaN"}
    found = loaded(monkeypatch, wandb_run("a", [ROWS[0], {"step": 1, **texts}], "nonfinite"))
    write_archive(found, tmp_path)
    for results in (found, read_archive(tmp_path)):
        last = results.finals.iloc[0]
        assert (last["step"], last["train_loss"], last["test_loss"]) == (1, math.inf, -math.inf)
        assert math.isnan(last["grad_norm"])


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("dataset.drop", ["id", "date"], '["id", "date"]'),
        ("layers", [8, 8], "[8, 8]"),
        ("sha256", {"a": "b"}, '{"a": "b"}'),
    ],
)
def test_reads_lists_and_mappings_of_a_wandb_config_as_texts(monkeypatch, name, value, text):
    runs = wandb_run("a"), wandb_run("b"), wandb_run("c")
    for run in runs[:2]:
        run.config[name] = value
    found = loaded(monkeypatch, *runs)
    assert [*found.finals["run_id"]] == ["a", "b", "c"]
    assert [*found.runs[name]][:2] == [text, text]


ETAS = (0.1, 0.3)


def trial(eta: float, seed: int, **parameters: Any) -> SimpleNamespace:
    """Return a run whose config has these parameters beside its labels, as under `wandb agent`."""
    run = wandb_run(f"eta{eta}-{seed}", [*ROWS[:1], {"step": 2, "train_loss": eta + seed / 100}])
    run.config |= {"algo": "mg_dsgd", "eta": eta, "algo.rounds": 3, "algo.nodes": 2, "seed": seed, **parameters}
    return run


@pytest.mark.parametrize(
    "parameters",
    [
        lambda eta: {"algo.eta": eta},  # by an earlier version
        lambda eta: {"algo.eta": str(eta)},
        lambda eta: {"algo.eta": eta, "stretch": "1", "wrapped": 5, OF_AGENT: ["algo.eta", "stretch", "wrapped"]},
    ],
)
@pytest.mark.parametrize("by_agent", [range(6), range(3)], ids=["all", "mixed"])
def test_runs_of_an_agent_and_of_commands_give_one_table(monkeypatch, parameters, by_agent):
    pairs = [(eta, seed) for eta in ETAS for seed in range(6)]
    plain = loaded(monkeypatch, *(trial(*pair) for pair in pairs))
    found = loaded(monkeypatch, *(trial(eta, s, **(parameters(eta) if s in by_agent else {})) for eta, s in pairs))
    pd.testing.assert_frame_equal(found.finals, plain.finals)
    assert found.options == plain.options == ["algo.nodes", "algo.rounds", "eta"]


def test_knows_the_options_that_are_labeled_with_their_prefix():
    assert {*TAKEN, *RunConfig.__annotations__} == WITH_PREFIX


def test_names_the_wandb_runs_that_no_figure_shows(monkeypatch):
    runs = [
        wandb_run("good"),
        wandb_run("stateless", state=None),
        wandb_run("bare", []),
        wandb_run("lost", [], "failed"),
    ]
    sentences = warnings(loaded(monkeypatch, *runs))
    for words in (("'finished'", "stateless"), ("evaluations", "bare"), ("1 failed run",)):
        assert any(mentions(sentence, *words) for sentence in sentences)
    assert not any(mentions(sentence, "good") for sentence in sentences)


def test_the_archive_command_escapes_control_characters(monkeypatch, tmp_path, capsys):
    loaded(monkeypatch, wandb_run("good"), wandb_run("bad", state="\x1b[31mdone"), wandb_run("\x1b[31m"))
    assert main(["wandb:me/project", str(tmp_path / "archive")]) == 0
    out, err = capsys.readouterr()
    assert mentions(err, "x1b[31m")
    assert "\x1b" not in out + err
