"""The data folder: only verified arrays are used."""

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from rich.console import Console

from bench.base.errors import UserError
from bench.build.material import load_arrays
from bench.data import sources
from bench.data.recipe import NotHere, checksum, data_folder, load, prepare
from bench.data.sources import Dropped, OpenML, Package, idx
from bench.engine.launch import Launched
from tests.helpers import local_data
from tests.helpers.cli import ROOT
from tests.helpers.configs import config
from tests.helpers.disks import on_a_disk
from tests.helpers.mentions import mentions

QUIET = Console(file=io.StringIO())


@pytest.fixture
def diary(tmp_path, monkeypatch):
    path = tmp_path / "diary"
    monkeypatch.setenv("HEARSAY_TEST_DIARY", str(path))
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    return path


def get(folder: Path):
    """Prepare the dataset ``slow``; the arrays, and what was said."""
    console = Console(file=io.StringIO(), width=1000)
    return prepare("slow", folder, console), console.file.getvalue()


def kept_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_prepared_arrays_are_mapped_and_found_again(tmp_path, diary):
    first, said = get(tmp_path / "data")
    assert "from the slow source" in said
    again, said = get(tmp_path / "data")
    assert said == ""
    assert diary.read_text() == "asked\n"
    assert isinstance(again["train_x"], np.memmap)
    assert checksum(first) == checksum(again) == checksum(local_data.parts())
    assert kept_in(tmp_path / "data") == {".slow.lock", "prepared"}


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-7])


def corrupt(file: Path) -> None:
    raw = bytearray(file.read_bytes())
    raw[-3] ^= 1
    file.write_bytes(bytes(raw))


def replace(file: Path) -> None:
    np.save(file, np.arange(5.0))


def pickled(file: Path) -> None:
    np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)


@pytest.mark.parametrize("damage", [truncate, corrupt, replace, pickled, Path.unlink])
def test_damaged_arrays_are_rejected_and_replaced(damage, tmp_path, diary):
    get(tmp_path)
    damage(tmp_path / "prepared" / "slow" / "train_x.npy")
    with pytest.raises(UserError, match=r"slow.*fetch.py slow"):
        load("slow", tmp_path)
    parts, said = get(tmp_path)
    assert checksum(parts) == checksum(local_data.parts())
    assert str(tmp_path) in said
    assert "from the slow source" in said
    assert kept_in(tmp_path) == {".slow.lock", "prepared", "diary"}


def test_a_valid_seal_replaces_the_checksum_and_an_invalid_one_does_not(tmp_path, diary, monkeypatch):
    get(tmp_path)
    place = tmp_path / "prepared" / "slow"
    seal = json.loads((place / "seal.json").read_text())
    asked = []
    monkeypatch.setattr("bench.data.recipe.checksum", lambda parts: asked.append(1) or checksum(parts))
    load("slow", tmp_path)
    assert not asked
    for strange in ("", "[]", json.dumps({**seal, "sha256": "0" * 64}), json.dumps({**seal, "crc32": {"train_x": 1}})):
        (place / "seal.json").write_text(strange)
        load("slow", tmp_path)  # the arrays are right, whatever lies beside them
    assert len(asked) == 4
    (place / "seal.json").write_text(json.dumps(seal))
    labels = np.load(place / "train_y.npy")
    np.save(place / "train_y.npy", labels.astype(np.int16))  # the same numbers, and other bytes
    with pytest.raises(UserError, match=r"slow.*checksum"):
        load("slow", tmp_path)


def test_the_error_lists_the_reason_of_every_source(tmp_path, monkeypatch):
    monkeypatch.delenv("HEARSAY_TEST_DIARY", raising=False)
    with pytest.raises(UserError) as error:
        prepare("slow", tmp_path, QUIET)
    first, *reasons = str(error.value).splitlines()
    assert first.startswith("dataset=slow ")
    assert reasons == ["  the slow source: no diary to write to", "  Be patient."]


def test_rejects_a_source_with_other_bytes(tmp_path, diary, monkeypatch):
    monkeypatch.setattr(local_data, "parts", lambda: {**PARTS, "train_y": PARTS["test_y"]})
    with pytest.raises(UserError, match=r"slow.* \w+….* \w+…"):
        prepare("slow", tmp_path, QUIET)
    assert not (tmp_path / "prepared").exists()


PARTS = local_data.parts()


@pytest.mark.thorough
def test_two_processes_fetch_once(tmp_path):
    diary = tmp_path / "diary"
    command = [sys.executable, str(ROOT / "bench/fetch.py"), "slow", "--data-dir", str(tmp_path / "data")]
    environment = {"HEARSAY_PLUGINS": "tests.helpers.local_data", "HEARSAY_TEST_DIARY": str(diary)}
    both = [
        subprocess.Popen(command, env={**os.environ, **environment, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=60)[0].decode() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert diary.read_text() == "asked\n"
    assert all(mentions(text, "slow: 90 ", " 10 ", "checked") for text in said)


DISKS = [("size=4k", "No space left"), ("ro", "Read-only file system")]


@pytest.mark.thorough
@pytest.mark.parametrize(("options", "complaint"), DISKS)
def test_a_full_or_read_only_disk_gives_a_sentence(options, complaint, tmp_path):
    words = f"'{sys.executable}' '{ROOT}/bench/fetch.py' slow --data-dir '{tmp_path}/disk'; echo exit $?"
    plugin = f"PYTHONPATH='{ROOT}' HEARSAY_PLUGINS=tests.helpers.local_data HEARSAY_TEST_DIARY='{tmp_path}/diary'"
    done = on_a_disk(tmp_path / "disk", options, f"{plugin} {words}; ls -A '{tmp_path}/disk'")
    assert f" {tmp_path}/disk: {complaint}" in done.stdout
    assert "exit 2" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stdout.split("exit 2")[1].split() in ([], [".slow.lock"])


def test_the_data_folder_is_the_one_given_or_the_environments_or_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HEARSAY_DATA", raising=False)
    assert data_folder() == tmp_path / "cache" / "hearsay"
    monkeypatch.setenv("HEARSAY_DATA", str(tmp_path / "shelf"))
    assert data_folder() == tmp_path / "shelf"
    assert data_folder(tmp_path / "mine") == tmp_path / "mine"


def test_only_downloaded_datasets_need_a_home_directory(monkeypatch):
    """A user of a container may have none."""

    def unknown(number):
        raise KeyError(number)

    for name in ("HOME", "HEARSAY_DATA", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert len(load_arrays(config(dataset="digits")).train_y)
    ranks = Launched(1, None, "127.0.0.1:1", "x")  # nobody listens there
    ranks.kill()
    for given in (None, "~/data"):
        with pytest.raises(UserError, match="HEARSAY_DATA"):
            data_folder(given)


def test_files_of_the_user_must_be_there_once_and_readable(tmp_path):
    source = Dropped(("*.txt",), lambda path: {"train_x": np.loadtxt(path)})
    with pytest.raises(NotHere, match=r"0 .*\*\.txt"):
        source.get(tmp_path, tmp_path)
    (tmp_path / "a.txt").write_text("1 2\n3 x\n")
    with pytest.raises(NotHere, match=r"a\.txt .*x"):
        source.get(tmp_path, tmp_path)
    (tmp_path / "b.txt").write_text("1")
    with pytest.raises(NotHere, match=r"2 .*\*\.txt"):
        source.get(tmp_path, tmp_path)


def fill_openml_cache(home: Path, number: int, arff: str) -> Path:
    """The files that scikit-learn would have kept of one sparse dataset."""
    about = home / "openml/openml.org/api/v1/json/data"
    about.mkdir(parents=True)
    (about / "features").mkdir()
    raw = arff.encode()
    url = f"https://openml.org/data/v1/download/{number}/toy.sparse_arff"
    description = {
        **{"id": str(number), "name": "toy", "version": "1", "format": "Sparse_ARFF", "status": "active"},
        **{"url": url, "file_id": str(number), "default_target_attribute": "Y", "description": "a toy"},
        "md5_checksum": hashlib.md5(raw).hexdigest(),
    }
    names = [line.split()[1] for line in arff.splitlines() if line.startswith("@ATTRIBUTE")]
    features = [
        {
            **{"index": str(i), "name": name, "data_type": "nominal" if name == "Y" else "numeric"},
            **{
                "is_target": str(name == "Y").lower(),
                "is_ignore": "false",
                "is_row_identifier": "false",
                "number_of_missing_values": "0",
            },
            **({"nominal_value": ["-1", "1"]} if name == "Y" else {}),
        }
        for i, name in enumerate(names)
    ]
    for path, value in (
        (about / f"{number}.gz", {"data_set_description": description}),
        (about / "features" / f"{number}.gz", {"data_features": {"feature": features}}),
    ):
        path.write_bytes(gzip.compress(json.dumps(value).encode()))
    data = home / f"openml/openml.org/data/v1/download/{number}/toy.sparse_arff.gz"
    data.parent.mkdir(parents=True)
    data.write_bytes(gzip.compress(raw))
    return data


HEADER = "@RELATION toy\n@ATTRIBUTE a NUMERIC\n@ATTRIBUTE b NUMERIC\n@ATTRIBUTE Y {-1, 1}\n@DATA\n"


def no_network(*_, **__):
    raise URLError("no network in this test")


def openml(tmp_path: Path, monkeypatch, arff: str):
    """What a source makes of a cache with this file in it, and the file."""
    kept = fill_openml_cache(tmp_path / "home", 99999, arff)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    monkeypatch.setattr("urllib.request.OpenerDirector.open", no_network)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return OpenML(99999, lambda data, target: {"x": data.toarray(), "y": target}), scratch, kept


def test_openml_is_read_through_scikit_learn_and_its_cache(tmp_path, monkeypatch):
    source, scratch, _ = openml(tmp_path, monkeypatch, HEADER + "{0 1, 2 1}\n{1 1, 2 -1}\n{2 1}\n")
    parts = source.get(tmp_path, scratch)
    assert parts["x"].tolist() == [[1, 0], [0, 1], [0, 0]]
    assert parts["y"].tolist() == ["1", "-1", "1"]


def test_a_cache_that_cannot_be_parsed_is_not_deleted(tmp_path, monkeypatch):
    source, scratch, kept = openml(tmp_path, monkeypatch, HEADER + "{0 1, 2 7}\nnonsense\n")
    before = kept.read_bytes()
    with pytest.raises(NotHere):
        source.get(tmp_path, scratch)
    assert kept.read_bytes() == before


def test_a_package_is_used_only_with_the_known_sum(tmp_path):
    make = "import pathlib; pathlib.Path('a.whl').write_bytes(b'what')"
    wrong = Package("a registry", (sys.executable, "-c", make), "0" * 64, lambda path: {})
    with pytest.raises(NotHere, match=r"a\.whl .*749ab2c0d06c….*000000000000…"):
        wrong.get(tmp_path, tmp_path)


def test_rejects_several_downloaded_files(tmp_path):
    make = "import pathlib; [pathlib.Path(name).touch() for name in ('b.whl', 'a.whl')]"
    many = Package("a registry", (sys.executable, "-c", make), "", lambda path: {})
    with pytest.raises(NotHere, match=r"2 files.*a\.whl, b\.whl"):
        many.get(tmp_path, tmp_path)


def test_pip_is_never_asked_for_what_it_would_have_to_build():
    assert "--only-binary=:all:" in sources.pip("a", "1", "", lambda path: {}).command


def test_a_client_that_fails_or_is_not_here_gives_a_reason(tmp_path):
    with pytest.raises(NotHere, match="nosuchclient"):
        Package("a registry", ("nosuchclient",), "", lambda path: {}).get(tmp_path, tmp_path)
    talk = "import sys; sys.exit('notice: hello\\nERROR: no such package')"
    with pytest.raises(NotHere, match="ERROR: no such package"):
        Package("a registry", (sys.executable, "-c", talk), "", lambda path: {}).get(tmp_path, tmp_path)


def test_reads_idx_files_and_rejects_others():
    raw = b"\0\0\x08\x02" + (2).to_bytes(4, "big") + (3).to_bytes(4, "big") + bytes(range(6))
    assert idx(raw).tolist() == idx(gzip.compress(raw)).tolist() == [[0, 1, 2], [3, 4, 5]]
    for bad in (raw[:-1], raw + b"x", b"GIF89a", b""):
        with pytest.raises(ValueError, match="idx"):
            idx(bad)


def test_archives_are_read_by_name_and_never_extracted_nor_unpickled():
    """No source calls a function that writes to a path from an archive, or that executes its content."""
    text = Path(sources.__file__).read_text() + "".join(file.read_text() for file in (ROOT / "datasets").glob("*.py"))
    for word in ("extractall", ".extract(", "pickle"):
        assert word not in text
