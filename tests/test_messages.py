"""What a person may type or do, and the sentence or silence that answers. No other test repeats such sentences."""

import ast
import os
import signal
import string
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli import ROOT, typed
from tests.helpers.few import few

FILES = {"few.txt": "0 1\n1 2\n2 3\n3 4\n", "empty.txt": "# nothing\n", "empty.csv": "\n", "gap.txt": "0 1\n1 3\n"}
DIVIDED = "dataset=digits partition=dirichlet partition.alpha=0.001"


SENTENCES = [
    ("run", "algo=dsgd algo.eta=0", "algo.eta must be more than 0; got 0."),
    ("run", "dataset=nan", "There is no dataset called 'nan'. Known: a9a, "),
    ("run", "-m algo=dsgd,nan", "There is no algo called 'nan'. Known: "),
    (
        "run",
        "algo={a:1}",
        "One of the keys in algo={…} is unknown. Set them one at a time (algo.NAME=VALUE)",
    ),
    ("run", "seed=nan", "seed must be a whole number; got nan."),
    ("run", "topology=edges topology.file=few.txt", "no edge for 3 of the 8 nodes: 5, 6, 7; set nodes=5 or add"),
    ("run", "dataset=synthetic topology=complete nodes=100000", "takes 850 GB, and"),
    ("run", "topology=row_stochastic", "or study the bias: topology.allow_biased=true."),
    ("run", "links=lossy links.p=1", "links.p must be at least 0 and less than 1; got 1."),
    ("run", "algo=dnasa compressor=top_k", "dnasa does not use compressors. Remove compressor=top_k"),
    (
        "run",
        "algo=choco compressor=sign topology=all_reduce",
        "topology=all_reduce does not use compressors. Remove compressor=sign",
    ),
    ("run", "algo=choco compressor=qsgd compressor.unbiased=true", "choco needs a contractive compressor"),
    (
        "run",
        "topology=random_digraph",
        "dnasa needs a doubly stochastic matrix; otherwise its result is biased. Use a method for directed graphs",
    ),
    (
        "run",
        "algo=d2 topology.lazy=true",
        "d2 accumulates rounding errors quadratically in the number of steps",
    ),
    (
        "run",
        "algo=dda dataset=digits init=independent",
        "dda requires that all nodes start at the same point, got init=independent",
    ),
    (
        "run",
        f"{DIVIDED} batch_size=8",
        "the smallest shard, 1 sample; set batch_size=1 or partition.alpha=",
    ),
    ("run", "dataset=digits model=lenet", "got inputs of shape (8, 8). Use model=linear or model=mlp."),
    (
        "run",
        "dataset=digits model=transformer",
        "model=transformer takes the tokens of a text as inputs, but dataset=digits has",
    ),
    (
        "run",
        "dataset=synthetic eval_samples=10",
        "dataset=synthetic has no shards to draw evaluation samples from. Remove eval_samples.",
    ),
    (
        "run",
        "dataset=synthetic validation=0.1",
        "dataset=synthetic has no training samples to set aside. Remove validation.",
    ),
    ("topology", "topology=ring --svg nowhere/ring.svg", "Cannot use nowhere/ring.svg: No such file or directory."),
    ("contract", "dnaas", "There is no algorithm or compressor called 'dnaas'. Did you mean 'dnasa'?"),
    ("partition", "dataset=synthetic", "dataset=synthetic draws its samples at every node, so it has no partition."),
    ("sync", "nowhere", "There are no runs in 'nowhere'."),
    ("status", "nowhere", "There are no runs in 'nowhere'."),
]
MORE_SENTENCES = [
    ("run", "algo=dsgt algo.eta=-0.1", "algo.eta must be more than 0; got -0.1."),
    ("run", "algo=dnasa algo.multiplier=0", "algo.multiplier must be more than 0; got 0."),
    ("run", "algo=dasagt algo.alpha=-1", "algo.alpha must be more than 0; got -1."),
    ("run", "topology=1", "There is no topology called '1'. Known: all_reduce, "),
    ("run", "model=true", "There is no model called 'true'. Known: cnn, lenet, linear, mlp, module, "),
    ("run", "experiment=null", "There is no experiment called 'null'. Known: d_dog, defaults, "),
    ("run", "algo.name=nan", "'algo.name' cannot be set, since a member brings its own options. Type algo=nan."),
    ("run", "topology.name=ladder", "Type topology=ladder."),
    ("run", "--cfg job dataset=nan", "There is no dataset called 'nan'. Known: a9a, "),
    ("topology", "topology=null", "There is no topology called 'null'. Known: all_reduce, "),
    ("run", "steps=inf", "steps must be a whole number; got inf."),
    ("run", "topology=edges topology.file=gap.txt nodes=4", "no edge for 1 of the 4 nodes: 2; add edges for them."),
    ("run", "topology=edges topology.file=none.txt", "none.txt does not exist or is not a regular file"),
    ("run", "topology=edges topology.file=empty.txt", "empty.txt has no edges; expected two node numbers"),
    ("run", "topology=matrix topology.file=empty.csv", "Cannot read a matrix from empty.csv: the file is empty."),
    ("topology", "topology=complete nodes=20000", "A complete graph of 20000 nodes takes 34 GB, and"),
    (
        "run",
        "dataset=synthetic algo=choco compressor=top_k compressor.k=101",
        "compressor.k must be at most 100, the length of the vectors; got 101.",
    ),
    ("run", "algo=choco topology=matching", "choco needs the same matrix in every round, but 'matching' changes."),
    ("run", "algo=dsgd links=one_way", "links=one_way requires a push method, which keeps running sums"),
    (
        "run",
        "dataset=digits validation=1",
        "validation=1 sets aside 1438 of 1438 samples; it must set aside 1 to 1437.",
    ),
    ("run", "input_scale=0", "input_scale must be positive; got 0."),
    ("run", "dataset=digits eval_samples=0", "eval_samples must be at least 1; got 0."),
    ("run", "dataset=planted dataset.samples=0", "dataset.samples must be at least 1; got 0."),
    (
        "partition",
        DIVIDED,
        "batch_size=32 is larger than the smallest shard, 1 sample; set batch_size=1 or partition.alpha=",
    ),
]
"""Of the same kinds."""


@pytest.mark.parametrize(("script", "words", "sentence"), few([*SENTENCES, *MORE_SENTENCES], SENTENCES))
def test_invalid_settings_have_this_message(script, words, sentence, tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    done = typed(*words.split(), cwd=tmp_path, script=f"bench/{script}.py")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 2
    assert not (tmp_path / "results").exists()


def command(*words: str, stdin: int = subprocess.DEVNULL, **environment: str) -> subprocess.Popen[bytes]:
    full, pipe = [sys.executable, *words], subprocess.PIPE
    return subprocess.Popen(full, cwd=ROOT, env={**os.environ, **environment}, stdin=stdin, stdout=pipe, stderr=pipe)


@pytest.mark.thorough
def test_replaces_greek_letters_that_the_terminal_lacks():
    done = command("bench/topology.py", "nodes=4", PYTHONIOENCODING="latin-1")
    out, err = done.communicate(timeout=60)
    assert (done.returncode, err) == (0, b"")
    assert b"rho = 0.333333" in out


@pytest.mark.parametrize("buffered", ["", "1"])
def test_ignores_a_closed_pipe(buffered):
    """As in `… | head -1`, where the pipe is closed before everything is said."""
    program = (
        "from bench.terminal.command import begin; begin(); import sys, os\n"
        "os.read(0, 1)\n"  # until the reader has gone
        "print('x' * 1_000_000); print('end', file=sys.stderr)"
    )
    process = command("-c", program, stdin=subprocess.PIPE, PYTHONUNBUFFERED=buffered)
    process.stdout.close()
    process.stdin.write(b"\n")
    process.stdin.close()
    with process.stderr as errors:
        assert errors.read() == b"end\n"
    assert process.wait(timeout=30) == 0


@pytest.mark.parametrize("words", ["bench/run.py --cfg=job", "bench/contract.py --help"])
def test_an_interruption_during_imports_prints_one_line(words):
    process = command(*words.split())
    maps, deadline = Path(f"/proc/{process.pid}/maps"), time.monotonic() + 30
    while "numpy" not in maps.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"Interrupted.\n")


PACKAGES = ("algorithms", "analysis", "bench", "benchmarks", "datasets", "reproduction")
PINNED = ("test_messages.py", "messages.py")
PUNCTUATION = string.punctuation.replace("{", "").replace("}", "") + "…"
OTHERS = ("unable to change wdir to", "the run resumes from an earlier checkpoint")
"""Texts that are no messages of hearsay: of mpiexec, and of the table of injected faults."""


def literals(source: str) -> Iterator[str]:
    """The strings of a file except docstrings; an f-string without its values is one string."""
    nodes: list[Any] = [ast.parse(source)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.JoinedStr):
            yield " ".join(part.value for part in node.values if isinstance(part, ast.Constant))
            nodes += [part for part in node.values if isinstance(part, ast.FormattedValue)]
        elif isinstance(node, ast.Constant):
            yield str(node.value)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            for child in vars(node).values() if isinstance(node, ast.AST) else ():  # faster than ast.walk
                nodes += child if isinstance(child, list) else [child] if isinstance(child, ast.AST) else []


def phrases(text: str) -> set[str]:
    """Each five words in a row. Numbers, paths, options and the values of f-strings are no words."""
    tokens = (token.strip(PUNCTUATION).lower() for token in text.split())
    words = [token for token in tokens if token.replace("-", "").replace("'", "").isalpha()]
    return {" ".join(words[first : first + 5]) for first in range(len(words) - 4)}


def test_no_other_test_repeats_a_message():
    """Tests assert error types and values, so that a message can be reworded."""
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]
    messages = {phrase for file in files for text in literals(file.read_text()) for phrase in phrases(text)}
    assert any(phrases(sentence) & messages for _, _, sentence in SENTENCES)
    messages -= {phrase for text in OTHERS for phrase in phrases(text)}
    tests = [file for file in (ROOT / "tests").rglob("*.py") if file.name not in PINNED]
    sources = {file.relative_to(ROOT): file.read_text() for file in tests}
    close = [file for file, source in sources.items() if phrases(source.replace("\\n", " ")) & messages]
    assert [(file, text) for file in close for text in literals(sources[file]) if phrases(text) & messages] == []
