"""Checks of a main configuration file (--config-name) and of the files that it inherits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import hydra
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from bench.base import renamed
from bench.base.errors import UserError
from bench.config.names import CONF
from bench.config.run_config import RunConfig


def check_main_file(name: str) -> None:
    """Reject a main file that lacks settings, or that sets something without effect."""
    config = hydra.compose(name, return_hydra_config=True)
    if missing := [key for key in RunConfig.__annotations__ if key not in config]:
        some = f"{', '.join(missing[:3])}{f' and {len(missing) - 3} other settings' * (len(missing) > 3)}"
        raise UserError(f"{name}.yaml lacks {some}. Begin it with 'defaults: [config, _self_]'.")
    if config.hydra.sweeper.get("params") or config.hydra.mode is not None:
        raise UserError(
            f"{name}.yaml sets hydra.sweeper.params or hydra.mode, which are not supported in a file. Type the values "
            "after -m, or write an experiment, as conf/experiment/example.yaml."
        )
    _check_replaced(name, config)


class File(NamedTuple):
    """A file of the tree of defaults."""

    name: str
    ours: bool  # in the folder conf
    values: dict[str, Any]  # by dotted path


def _check_replaced(main: str, config: DictConfig) -> None:
    """Reject a value that a later file of conf replaces, and a value of the main file that any file replaces."""
    files = list(_files(main))
    last: dict[str, File] = {}  # the last file that sets a path, or something below it
    for file in files:
        for path in file.values:
            parts = path.split(".")
            last.update({".".join(parts[:end]): file for end in range(1, len(parts) + 1)})
    for file in files:
        for path, value in file.values.items() if not file.ours else ():
            first, _, rest = path.partition(".")
            if first == "hydra" and rest and rest.partition(".")[0] != "searchpath":
                raise UserError(f"{file.name}.yaml sets {path}, which hearsay does not use. Remove it.")
            by = last[path]
            if first not in RunConfig.__annotations__ or by is file or "${" in str(value):
                continue
            if (by.ours or file.name == main) and OmegaConf.select(config, path) != value:
                raise UserError(
                    f"{file.name}.yaml sets {path}, but {by.name}.yaml is later in the defaults and replaces it. Put "
                    "config first and _self_ last in 'defaults'."
                )


def _files(main: str) -> Iterator[File]:
    """Yield the files that Hydra merges, in this order."""
    loader = GlobalHydra.instance().config_loader()
    assert isinstance(loader, ConfigLoaderImpl)
    _, files = loader._parse_overrides_and_create_caching_repo(main, [])
    for default in loader.compute_defaults_list(main, [], RunMode.RUN).defaults:
        path = default.config_path
        loaded = files.load_config(path) if path and path.partition("/")[0] != "hydra" else None
        if path and loaded:
            values: Any = OmegaConf.to_container(loaded.config, resolve=False)
            inside = f"{default.package}." if default.package else ""
            own = {renamed.setting(inside + key): value for key, value in _leaves(values)}
            yield File(path, loaded.path == f"file://{CONF}", own)


def _leaves(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each single value with its dotted path."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from ((f"{key}.{path}", leaf) for path, leaf in _leaves(value))
        else:
            yield str(key), value
