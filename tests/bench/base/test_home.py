"""Paths that begin with a home directory."""

from pathlib import Path

import pytest

import hearsay
from bench.base.errors import UserError
from bench.base.options import convert
from bench.config.source import USUAL, Source
from bench.sweep.cluster.site import _read
from tests.helpers.configs import config

NOBODY = "~nobody_of_this_name/c"


@pytest.mark.parametrize(
    "use",
    [
        lambda path: convert(path, Path, "option"),
        lambda path: Source().divide([f"hydra.searchpath=['{path}']"]),
        lambda path: _read(f"{path}.yaml", USUAL),
        lambda path: config(results=path),
        hearsay.plugin,
        hearsay.load,
    ],
)
def test_rejects_a_home_directory_that_does_not_exist(use):
    with pytest.raises(UserError, match=NOBODY):
        use(NOBODY)


def test_results_may_begin_with_the_home_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert config(results="~/zz").results == str(tmp_path / "zz")
    assert config(results="~/zz").run_id == config().run_id
    assert config(results="zz~").results == "zz~"
