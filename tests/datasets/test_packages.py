"""Datasets that package registries have: what they are known to be, from either source, and a short run on each."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bench.base.errors import UserError
from bench.base.registry import datasets, recipes
from bench.data.recipe import checksum
from bench.data.sources import tar_members
from datasets import cifar10, covtype, letter, magic, mobydick
from tests.datasets.test_real import parts_of
from tests.helpers.cli import typed
from tests.helpers.configs import config, rows


def ended(tmp_path: Path, *words: str) -> dict[str, float]:
    """The summary of a short run."""
    done = typed(*words, "engine=stacked", "nodes=4", "eval_samples=200", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "results/runs").iterdir()
    return json.loads((run / "summary.json").read_text())


def accuracy(dataset: str, eta: float, **words: str) -> float:
    """The final test accuracy of a short run."""
    algo = {"name": "dsgt", "eta": eta}
    run = config(
        dataset=dataset, algo=algo, nodes=4, steps=200, eval_every=200, eval_samples=200, batch_size=32, **words
    )
    (measured,) = rows(run)
    return measured[-1]["test_accuracy"]


def counts(parts) -> list[int]:
    return np.bincount(np.concatenate([parts["train_y"], parts["test_y"]])).tolist()


def test_magic_is_magic():
    parts = parts_of("magic")
    assert counts(parts) == [6688, 12332]
    assert (parts["train_x"].shape, parts["test_x"].shape) == ((15216, 10), (3804, 10))
    assert np.abs(parts["train_x"].mean(0, dtype=float)).max() < 1e-6
    assert parts["train_x"].std(0, dtype=float) == pytest.approx(np.ones(10), abs=1e-5)
    assert 75 < accuracy("magic", 0.3) < 90  # 65 by predicting gamma always


def test_letter_is_letter():
    parts = parts_of("letter")
    assert counts(parts)[:6] == [789, 766, 736, 805, 768, 775]
    assert sum(counts(parts)) == 20000
    assert len(counts(parts)) == 26
    assert 40 < accuracy("letter", 0.5, partition="dirichlet") < 95


def test_tables_are_the_same_bytes_from_lines_in_another_order(monkeypatch):
    g = np.random.default_rng(0)
    x, shuffled = np.round(g.standard_normal((40, 16)), 3), g.permutation(40)
    classes = ["g", "h"] * 20
    monkeypatch.setattr(magic, "TRAIN", 30)
    again = [classes[i] for i in shuffled]
    assert checksum(magic.prepared(x[:, :10], classes)) == checksum(magic.prepared(x[shuffled, :10], again))
    monkeypatch.setattr(letter, "TRAIN", 30)
    one = letter.prepared(x, ["A", "Z"] * 20)
    assert sorted(set(np.concatenate([one["train_y"], one["test_y"]]))) == [0, 25]


def test_letter_from_ucis_file_with_the_class_first(tmp_path):
    (tmp_path / "letter-recognition.data").write_text("T,2,8\nI,5,12\n")
    seen = {}
    source = recipes["letter"].sources[0]

    def kept(x, classes):
        seen.update(x=x.tolist(), classes=classes)
        return {}

    from datasets.keel import uci

    assert type(source)(source.patterns, uci(0, kept)).get(tmp_path, tmp_path) == {}
    assert seen == {"x": [[2, 8], [5, 12]], "classes": ["T", "I"]}


@pytest.mark.thorough
def test_covtype_is_covtype(tmp_path):
    parts = parts_of("covtype")
    assert counts(parts) == [211840, 283301, 35754, 2747, 9493, 17367, 20510]
    x = np.concatenate([parts["train_x"], parts["test_x"]])
    assert np.abs(parts["train_x"][:, :10].mean(0, dtype=float)).max() < 1e-6
    assert set(np.unique(x[:, 10:])) == {0, 1}
    assert (x[:, 10:14].sum(1) == 1).all()  # one area and one soil each
    assert (x[:, 14:].sum(1) == 1).all()
    end = ended(tmp_path, "dataset=covtype", "algo=dsgt", "algo.eta=0.3", "steps=200")
    assert 60 < end["test_accuracy"] < 90


def test_covtype_from_lines(monkeypatch):
    monkeypatch.setattr(covtype, "TRAIN", 6)
    lines = "".join(f"{i},{','.join(['7'] * 9)},{','.join(['0'] * 43)},1,{1 + i % 7}\n" for i in range(8))
    parts = covtype.prepared(lines.encode())
    assert counts(parts) == [2, 1, 1, 1, 1, 1, 1]
    assert parts["train_x"][:, 0].std() == pytest.approx(1)
    assert not parts["train_x"][:, 1:10].any()


def test_moby_dick_is_a_text_with_the_next_characters_as_targets():
    parts = parts_of("mobydick")
    assert (parts["train_x"][1:] == parts["train_y"][:-1]).all()
    assert sum(len(parts[part]) for part in ("train_x", "test_x")) + 2 == 1190317  # characters; in UTF-8, 1204997 bytes
    arrays = datasets["mobydick"](parts)
    assert (arrays.train_x.shape, arrays.test_x.shape, arrays.classes) == ((8369, 128), (929, 128), 83)
    assert (arrays.train_x[:, 1:] == arrays.train_y[:, :-1]).all()
    assert (arrays.train_y[:-1, -1] == arrays.train_x[1:, 0]).all()  # pieces follow each other
    assert datasets["mobydick"](parts, context=50).train_x.shape == (21425, 50)
    with pytest.raises(UserError, match=r"dataset.context.*119031.*200000"):
        datasets["mobydick"](parts, context=200000)


def test_moby_dick_is_learned():
    """Of each character, which comes next: a table of 83² numbers, at first no better than 6.4 bits."""
    parts_of("mobydick")
    words = {"dataset": "mobydick", "partition": "by_label", "algo": {"name": "dsgdm", "eta": 20.0}, "dtype": "float32"}
    model = {"name": "module", "target": "tests.helpers.bigrams:Bigrams"}
    run = config(**words, model=model, nodes=4, steps=60, batch_size=8, eval_every=60, eval_samples=100)
    (first, last), *_ = rows(run)
    assert first["test_bits"] > 6.3
    assert last["test_bits"] < 5
    assert last["test_bits"] == pytest.approx(last["test_loss"] / np.log(2))


@pytest.mark.thorough
def test_moby_dick_selects_a_transformer(tmp_path):
    parts_of("mobydick")
    words = ("dataset=mobydick", "dataset.context=16", "model.width=16", "model.layers=1", "algo=dsgdm", "steps=5")
    end = ended(tmp_path, *words, "batch_size=4")
    assert end["model"] == "transformer"
    assert 3 < end["test_bits"] < 8


def test_characters_are_numbered_in_their_order():
    parts = mobydick.prepared("ba—ab" * 4)
    assert np.concatenate([parts["train_x"], parts["train_y"][-1:]]).tolist() == [1, 0, 2, 0, 1] * 3 + [1, 0, 2]
    assert parts["test_x"].tolist() == [0]
    assert parts["test_y"].tolist() == [1]


def sheet(images: np.ndarray) -> bytes:
    """A PNG file with an image in every row, as the package has it."""
    out = io.BytesIO()
    Image.fromarray(images.transpose(0, 2, 3, 1).reshape(len(images), 1024, 3)).save(out, "PNG")
    return out.getvalue()


def test_cifar10_from_png_and_from_the_authors_files_is_the_same(tmp_path):
    import tarfile

    g = np.random.default_rng(0)
    names = (*cifar10.BATCHES, cifar10.TEST)
    images = {name: g.integers(0, 256, (3, 3, 32, 32), dtype=np.uint8) for name in names}
    labels = {name: g.integers(0, 10, 3, dtype=np.uint8) for name in names}
    train = [int(label) for name in cifar10.BATCHES for label in labels[name]]
    files = {f"{name}.png": sheet(images[name]) for name in names}
    files |= {"train_lables.json": json.dumps(train).encode()}
    files |= {"test_lables.json": json.dumps(labels["test_batch"].tolist()).encode()}
    with tarfile.open(tmp_path / "p.tgz", "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    for name in names:
        rows = np.column_stack([labels[name], images[name].reshape(3, -1)])
        (tmp_path / f"{name}.bin").write_bytes(rows.tobytes())
    parts = cifar10.from_npm(tmp_path / "p.tgz")
    assert parts["train_x"][3].tobytes() == images["data_batch_2"][0].tobytes()
    assert checksum(parts) == checksum(recipes["cifar10"].sources[0].get(tmp_path, tmp_path))
    with pytest.raises(ValueError, match="package/none"):
        tar_members(tmp_path / "p.tgz", ["package/none"])


@pytest.mark.thorough
def test_cifar10_is_cifar10(tmp_path):
    parts = parts_of("cifar10")
    assert (parts["train_x"].shape, parts["test_x"].shape) == ((50000, 3, 32, 32), (10000, 3, 32, 32))
    assert np.bincount(parts["train_y"]).tolist() == [5000] * 10
    assert np.bincount(parts["test_y"]).tolist() == [1000] * 10
    means = parts["train_x"].mean((0, 2, 3)) / 255
    assert means == pytest.approx([0.4914, 0.4822, 0.4465], abs=5e-5)  # as everybody has them
    arrays = datasets["cifar10"](parts)
    assert (arrays.mean, arrays.sd) == pytest.approx((parts["train_x"].mean(), parts["train_x"].std()), rel=1e-3)
    assert (arrays.crops, datasets["cifar10"](parts, augment=True).crops) == (None, 4)
    words = ("dataset=cifar10", "dataset.augment=true", "model=lenet", "algo=dsgdm", "algo.eta=0.05", "steps=100")
    end = ended(tmp_path, *words, "batch_size=16")
    assert 15 < end["test_accuracy"] < 60
