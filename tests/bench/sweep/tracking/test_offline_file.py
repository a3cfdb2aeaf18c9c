"""A W&B run counts as written only if its file is complete."""

import pytest
import wandb

from bench.sweep.tracking.offline_file import BLOCK, must_be_complete, records
from bench.sweep.tracking.wandb_run import wandb_settings

ENTRIES = 3


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A file of W&B with several blocks."""
    folder = tmp_path_factory.mktemp("wandb")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_MODE", "offline")
        run = wandb.init(dir=folder, settings=wandb_settings(), reinit="create_new")
        for number in range(ENTRIES):
            run.log({"step": number, "text": "x" * 40_000})
        run.finish()
        wandb.teardown()  # waits for W&B
    (path,) = folder.rglob("*.wandb")
    return path


def test_a_complete_file_is_accepted(file):
    must_be_complete(file, ENTRIES)
    with pytest.raises(OSError, match=f"{ENTRIES} of {ENTRIES + 1}"):
        must_be_complete(file, ENTRIES + 1)


def test_a_file_that_was_cut_off_is_rejected(file, tmp_path):
    """Also between two records, and where the disk keeps the length but not the content."""
    whole = file.read_bytes()
    cut = tmp_path / file.name
    for size in [
        *range(0, len(whole), len(whole) // 97),
        *range(len(whole) - 60, len(whole)),
    ]:  # the last record is short
        padded = whole[:size].ljust(len(whole), b"\0")
        for content in {whole[:size], padded} - {whole}:  # the file may end with a zero
            cut.write_bytes(content)
            with pytest.raises(OSError, match=cut.name):
                must_be_complete(cut, ENTRIES)


def test_a_record_in_several_pieces_must_be_whole(file, tmp_path):
    cut = tmp_path / file.name
    cut.write_bytes(file.read_bytes()[: 2 * BLOCK])  # between two pieces of a record
    with pytest.raises(OSError, match=cut.name):
        list(records(cut))
