"""The real datasets: a9a end to end, MNIST from a registry, MiniBooNE from files of either format."""

import gzip
import io
import json

import numpy as np
import pytest
from rich.console import Console

from bench.base.errors import UserError
from bench.base.registry import datasets, recipes
from bench.data.recipe import NotHere, checksum, data_folder, prepare
from bench.data.sources import idx
from datasets import a9a, miniboone
from tests.helpers.cli import ROOT, fresh, python, typed

NOBODY = "no source answers on this machine"


def parts_of(name: str):
    """The dataset in the user's data folder, fetched if need be."""
    try:
        return prepare(name, data_folder(), Console(stderr=True))
    except UserError as error:
        if "from any source" in str(error):
            pytest.skip(f"{NOBODY}: {error}")
        raise


def test_a9a_is_libsvms():
    a = parts_of("a9a")
    assert a["train_x"].shape == (32561, 123)
    assert a["test_x"].shape == (16281, 123)
    assert np.bincount(a["train_y"]).tolist() == [24720, 7841]
    assert np.bincount(a["test_y"]).tolist() == [12435, 3846]
    assert round(a["train_x"].sum(dtype=int) / 32561, 2) == 13.87
    assert {part.dtype for part in a.values()} == {np.dtype(np.uint8)}
    assert checksum(a) == recipes["a9a"].sha256


def test_a9a_end_to_end(tmp_path):
    parts_of("a9a")
    done = typed("dataset=a9a", "steps=300", "engine=stacked", "eval_every=300", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "results/runs").iterdir()
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["data"]["sha256"] == recipes["a9a"].sha256
    assert sum(manifest["data"]["samples"]) == 32561
    assert 0 < manifest["heterogeneity"] < 0.01
    assert 84 < json.loads((run / "summary.json").read_text())["test_accuracy"] < 86


def test_mnist_is_mnist():
    m = parts_of("mnist")
    assert m["train_x"].shape == (60000, 28, 28)
    assert m["test_x"].shape == (10000, 28, 28)
    assert np.bincount(m["train_y"]).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert checksum(m) == recipes["mnist"].sha256
    assert m["train_x"].mean() / 255 == pytest.approx(0.1307, abs=5e-5)
    assert m["train_x"].std() / 255 == pytest.approx(0.3081, abs=5e-5)
    arrays = datasets["mnist"](m)  # what a batch is normalized with is in the units of the pixels
    assert (arrays.mean, arrays.sd) == pytest.approx((m["train_x"].mean(), m["train_x"].std()), rel=1e-3)


@pytest.mark.thorough
def test_two_hosts_of_halves_hold_no_copy_of_mapped_data(tmp_path):
    parts_of("mnist")
    script = tmp_path / "rss.py"
    script.write_text(
        """
import sys; sys.path.insert(0, sys.argv[1])
import torch
from bench.build.build import build_problem
from bench.problem.problem import Setting
from tests.helpers.configs import config

def anonymous():
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("RssAnon")) / 1e3

c = config(dataset="mnist", model="lenet", nodes=8, batch_size=2)
before = anonymous()
kept = build_problem(c, Setting(8, range(4), (0,), 2, torch.float32, torch.device("cpu")))
print(anonymous() - before)
"""
    )
    done = fresh(script, str(ROOT))
    assert float(done.stdout) < 15, done.stderr  # megabytes; the images of four nodes are 23


def libsvm(x: np.ndarray, y: np.ndarray) -> str:
    lines = [
        " ".join([f"{2 * int(label) - 1:+d}", *(f"{j + 1}:1" for j in np.flatnonzero(row))])
        for row, label in zip(x, y, strict=True)
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.thorough
def test_a9a_from_libsvms_own_files_and_from_openmls_rows(tmp_path):
    a = parts_of("a9a")
    (tmp_path / "a9a").write_text(libsvm(a["train_x"], a["train_y"]))
    (tmp_path / "a9a.t").write_text(libsvm(a["test_x"], a["test_y"]))
    assert checksum(recipes["a9a"].sources[0].get(tmp_path, tmp_path)) == recipes["a9a"].sha256
    x = np.concatenate([a["train_x"], a["test_x"]]).astype(float)
    y = np.where(np.concatenate([a["train_y"], a["test_y"]]), "1", "-1")
    assert checksum(a9a.from_openml(x, y)) == recipes["a9a"].sha256


def test_mnist_from_files_of_the_user(tmp_path):
    m = parts_of("mnist")
    names = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]
    for name, array in zip(names, m.values(), strict=True):
        header = b"\0\0\x08" + bytes([array.ndim]) + b"".join(size.to_bytes(4, "big") for size in array.shape)
        (tmp_path / name).write_bytes(header + array.tobytes())
        assert idx(header + array.tobytes()).shape == array.shape
    assert checksum(recipes["mnist"].sources[0].get(tmp_path, tmp_path)) == recipes["mnist"].sha256
    raw = bytearray((tmp_path / names[0]).read_bytes())
    raw[5000] ^= 255
    (tmp_path / names[0]).write_bytes(raw)
    assert checksum(recipes["mnist"].sources[0].get(tmp_path, tmp_path)) != recipes["mnist"].sha256


@pytest.fixture
def small(monkeypatch):
    """MiniBooNE with 13 events."""
    monkeypatch.setattr(miniboone, "SIGNAL", 5)
    monkeypatch.setattr(miniboone, "BACKGROUND", 8)
    monkeypatch.setattr(miniboone, "TRAIN", 10)
    g = np.random.default_rng(0)
    x = np.round(g.standard_normal((13, 50)) * np.arange(1, 51), 5)
    x[3] = -999.0
    x[7, 2] = -999.0
    return x, np.arange(13) < 5


def uci(x: np.ndarray) -> str:
    return "     5     8\n" + "".join("  " + "  ".join(f"{value:.12e}" for value in row) + "\n" for row in x)


def arff(x: np.ndarray, y: np.ndarray) -> str:
    names = [f"@ATTRIBUTE ParticleID_{i} REAL\n" for i in range(50)]
    header = "% a comment\n@RELATION MiniBooNE\n@ATTRIBUTE signal {False, True}\n" + "".join(names) + "@DATA\n"
    return header + "".join(",".join([str(bool(t)), *map(str, row)]) + "\n" for row, t in zip(x, y, strict=True))


def test_miniboone_from_either_file_is_the_same_bytes(small, tmp_path):
    x, signal = small
    (tmp_path / "MiniBooNE_PID.txt").write_text(uci(x))
    shuffled = np.random.default_rng(1).permutation(13)
    (tmp_path / "MiniBooNE.arff.gz").write_bytes(gzip.compress(arff(x[shuffled], signal[shuffled]).encode()))
    one, two = (source.get(tmp_path, tmp_path) for source in recipes["miniboone"].sources[:2])
    assert checksum(one) == checksum(two)
    three = miniboone.from_openml(x[shuffled], signal[shuffled].astype(str))
    assert checksum(one) == checksum(three)
    recipes["miniboone"].check(one)
    # standardized on the known values of the training part; 0 where a value is missing
    assert one["train_x"].dtype == np.float32
    assert one["train_x"].shape == (10, 50)
    known = one["train_x"] != 0
    assert (~known).sum() + (one["test_x"] == 0).sum() == 51
    for column, ok in zip(one["train_x"].T, known.T, strict=True):
        assert column[ok].mean() == pytest.approx(0, abs=1e-6)
        assert column[ok].std() == pytest.approx(1, abs=1e-6)
    assert one["train_y"].sum() + one["test_y"].sum() == 5


def test_rejects_data_that_are_not_miniboone(small, tmp_path, monkeypatch):
    x, signal = small
    few = miniboone.prepared(x, signal)
    monkeypatch.setattr(miniboone, "SIGNAL", 6)
    monkeypatch.setattr(miniboone, "BACKGROUND", 7)
    with pytest.raises(NotHere, match=r"5 .*MiniBooNE .*6"):
        miniboone.check(few)
    monkeypatch.undo()
    with pytest.raises(NotHere, match="shapes"):
        miniboone.check(few)
    for text, complaint in (
        ("5 9\n" + uci(x).split("\n", 1)[1], "13×50 .*14×50"),
        ("hello\n", "invalid literal"),
        ("5\n", "two counts"),
    ):
        (tmp_path / "MiniBooNE_PID.txt").write_text(text)
        with pytest.raises(NotHere, match=complaint):
            recipes["miniboone"].sources[0].get(tmp_path, tmp_path)
    for text, complaint in (
        (arff(x, signal).replace("signal", "target"), "a target called signal"),
        (arff(x, signal).replace("True,", "Maybe,"), "not in"),
        (arff(x, signal) + "1,2\n", "cannot be read"),
    ):
        (tmp_path / "MiniBooNE.arff").write_text(text)
        with pytest.raises(NotHere, match=complaint):
            recipes["miniboone"].sources[1].get(tmp_path, tmp_path)


@pytest.mark.thorough
def test_missing_miniboone_is_reported_with_instructions(tmp_path):
    (tmp_path / "MiniBooNE_PID.txt").write_text("5 8\n")
    done = python("bench/fetch.py", "miniboone", "--data-dir", str(tmp_path))
    if done.returncode == 0:
        pytest.skip("OpenML answers here")
    assert f"{tmp_path}/MiniBooNE_PID.txt cannot be read: " in done.stdout
    assert "MiniBooNE.arff (dataset 41150)" in done.stdout
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.thorough
def test_raw_files_of_the_user_stay_where_they_are(tmp_path):
    a = parts_of("a9a")
    (tmp_path / "a9a").write_text(libsvm(a["train_x"], a["train_y"]))
    (tmp_path / "a9a.t").write_text(libsvm(a["test_x"], a["test_y"]))
    console = Console(file=io.StringIO(), width=1000)
    assert checksum(prepare("a9a", tmp_path, console)) == recipes["a9a"].sha256
    assert "from your own a9a, a9a.t" in console.file.getvalue()
    assert (tmp_path / "a9a").is_file()
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(b"\x1f\x8b\x08\x00" + bytes(30))
    for name in ("train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(NotHere, match="cannot be read"):
        recipes["mnist"].sources[0].get(tmp_path, tmp_path)
