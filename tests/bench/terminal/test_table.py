"""Tables for the terminal: whatever its width, a number that is shown is shown whole."""

import io
import re
import time

import numpy as np
import pytest

from bench.partition import show
from bench.terminal.console import Console
from bench.terminal.table import in_order, show_failures, show_table
from tests.messages import HIDDEN

RUNS = [
    {
        "run_id": f"r{i}",
        "algo": algo,
        "eta": eta,
        "topology": "ring",
        "partition": "dirichlet",
        "partition.alpha": alpha,
        "seed": seed,
        "state": "diverging",
        "step": 5000,
        "test_loss": 1.2345e-05 * (i + 1),
        "test_accuracy": 83.127 + i,
        "grad_norm": 4.3211e-03,
        "consensus": 4.363e-09 * (i + 1),
        "wall_s": 12.614,
    }
    for i, (algo, eta, alpha, seed) in enumerate(
        [("dsgd", 0.1, 0.5, 1), ("dsgd", 0.003, 0.5, 0), ("dasagt", None, 0.05, 0), ("dsgd", 0.1, 0.5, 0)]
    )
]


def printed(width: int, terminal: bool, runs=RUNS) -> str:
    out = io.StringIO()
    show_table(Console(file=out, width=width, force_terminal=terminal, color_system=None), runs)
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_cuts_no_number_and_names_hidden_columns(width):
    text = printed(width, terminal=True)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    hidden = text.partition(HIDDEN)[2]
    for heading, value in {"grad_norm": "0.004321", "consensus": "4.363e-09", "seconds": "12.61"}.items():
        assert (heading in hidden) == (value not in text)
    assert "83.13" in text
    assert "┃" in text


def test_constant_columns_are_printed_once_before_any_is_hidden():
    first, *lines = printed(80, terminal=True).splitlines()
    same = "topology=ring  state=diverging  step=5000  grad_norm=0.004321  seconds=12.61"
    assert " ".join([first, lines[0]]).split()[-5:] == same.split()
    assert re.findall(r"\w+_\w+", lines[-1]) == ["test_loss"]
    assert sum(line.startswith("│ dsgd") for line in lines) == 3


@pytest.mark.parametrize("width", [30, 40])
def test_very_narrow_terminals_get_a_paragraph_per_run(width):
    text = printed(width, terminal=True)
    assert max(map(len, text.splitlines())) <= width
    assert text.count("topology=ring") == 1
    assert re.findall(r"consensus=(\S+)", text) == ["4.363e-09", "8.726e-09", "1.309e-08", "1.745e-08"]


def test_a_pipe_gets_all_columns():
    text = printed(40, terminal=False)
    assert all(
        f" {name} " in text for name in ("partition.alpha", "test_accuracy", "grad_norm", "consensus", "seconds")
    )
    assert len(text.splitlines()) == len(RUNS) + 4
    assert "…" not in text


def test_rows_are_in_the_order_of_a_sweep():
    ordered = [(run["algo"], run["eta"], run["seed"]) for run in in_order(RUNS)]
    assert ordered == [("dasagt", None, 0), ("dsgd", 0.003, 0), ("dsgd", 0.1, 0), ("dsgd", 0.1, 1)]


@pytest.mark.parametrize(("width", "terminal"), [(80, True), (30, True), (30, False)])
def test_counts_of_a_partition_are_not_cut(width, terminal):
    counts = np.arange(1500, 1500 + 8 * 30).reshape(8, 30)
    out = io.StringIO()
    show(Console(file=out, width=width, force_terminal=terminal, color_system=None), counts, "class")
    assert set(map(str, counts.flat)) <= set(re.findall(r"\d+", out.getvalue()))
    assert not terminal or max(map(len, out.getvalue().splitlines())) <= max(width, 35)


def test_a_failed_run_has_no_metrics():
    """Those of its last evaluation are not its result."""
    text = printed(200, terminal=True, runs=[RUNS[0], {**RUNS[1], "state": "failed", "test_accuracy": 12.345}])
    assert "83.13" in text
    assert "12.35" not in text
    assert "12.34" not in text


def test_a_user_error_is_shown_without_traceback(tmp_path):
    end = '  File "loop.py", line 7, in run\n{}\nsome library was there too\n'
    for error, kept in (("rank 0: It has no color.", False), ("KeyError: 'color'", True)):
        (tmp_path / "log.txt").write_text(
            end.format(error if kept else "bench.base.errors.UserError: It has no color.")
        )
        out = io.StringIO()
        show_failures(Console(file=out, width=200), [(tmp_path, error)])
        assert error in out.getvalue()
        assert ("line 7, in run" in out.getvalue()) == kept
        assert f"{tmp_path}/log.txt" in out.getvalue()


def test_a_long_error_and_log_of_a_stranger_are_shown_at_once(tmp_path):
    (tmp_path / "log.txt").write_text("\n".join(f"errors.UserError: aaaaaaaaab{i}" for i in range(10_000)))
    out = io.StringIO()
    began = time.process_time()
    show_failures(Console(file=out, width=200), [(tmp_path, "a" * 10**6)])
    assert time.process_time() - began < 1
    assert len(out.getvalue()) < 10**4
    assert "aaab9999" in out.getvalue()
