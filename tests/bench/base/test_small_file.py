"""Files of strangers that are larger than they need to be."""

import os

import pytest

from bench.base.board_file import read, yaml_of
from bench.base.small_file import LARGEST, content_up_to


def test_a_file_is_read_up_to_its_limit(tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes(b"1234")
    assert content_up_to(file, 4) == b"1234"
    with pytest.raises(OSError, match="MB") as caught:
        content_up_to(file, 3)
    assert caught.value.filename == str(file)  # commands name it


def test_a_large_protocol_is_not_read(tmp_path):
    file = tmp_path / "board.yaml"
    file.write_bytes(b"\n" * (LARGEST + 1))
    for reader in (yaml_of, lambda file: read(file.parent)):
        with pytest.raises(OSError, match="MB"):
            reader(file)


def test_a_large_file_beside_the_protocol_has_no_hash(tmp_path):
    board = read()
    object.__setattr__(board, "folder", tmp_path)
    (tmp_path / "rules.md").touch()
    os.truncate(tmp_path / "rules.md", 1 << 40)
    with pytest.raises(OSError, match="MB"):
        _ = board.hash
