"""The folders of configuration files: conf, those of the command line and those of plug-ins."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, NamedTuple

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.errors import OverrideParseException
from hydra.plugins.search_path_plugin import SearchPathPlugin

from bench.base.errors import UserError
from bench.base.home import expanded
from bench.base.registry import no_such, plugins
from bench.config.names import CONF, not_a_setting

CONFIG = "config"
"""The main configuration file, unless --config-name sets another."""
SEARCHPATH = "hydra.searchpath="


class Source(NamedTuple):
    """The folders that Hydra searches, in this order: ``main``, typed ones, conf, those of plug-ins."""

    main: Path = CONF
    name: str = CONFIG
    typed: tuple[str, ...] = ()  # as Hydra writes them: file:///home/me/conf, pkg://package.conf
    flags: tuple[str, ...] = ()  # to repeat the command

    def places(self) -> list[str]:
        """Return all folders except ``main``, as Hydra writes them."""
        ours = [CONF, *plugin_folders()]
        return [*self.typed, *(f"file://{folder}" for folder in ours if folder != self.main)]

    def folders(self) -> list[Path]:
        return [self.main, *(folder for place in self.places() for folder in _folders(place))]

    def divide(self, words: Sequence[str]) -> tuple[Source, list[str]]:
        """Return the source with the folders of hydra.searchpath, and the other words."""
        typed: list[str] = []
        places = [word for word in words if word.lstrip("+").startswith(SEARCHPATH)]
        for word in places:
            try:
                value = OverridesParser.create().parse_overrides([word])[0].value()
            except OverrideParseException as error:
                raise UserError(not_a_setting(word, str(error))) from error
            for place in value if isinstance(value, list) else [value]:
                found = _place(str(place), word)
                _check_hidden(
                    _folders(found), [self.main, *(f for p in (*self.typed, *typed) for f in _folders(p))], word
                )
                typed.append(found)
        more = self._replace(typed=(*self.typed, *typed), flags=(*self.flags, *places))
        return more, [word for word in words if word not in places]


USUAL = Source()


def source_of(given: argparse.Namespace) -> Source:
    """Return the source that the flags name; raise a UserError if a file or folder is missing."""
    main = Path(_folder(given.config_path, "--config-path")) if given.config_path else CONF
    typed = (f"file://{_folder(given.config_dir, '--config-dir')}",) if given.config_dir else ()
    named = {
        f"--{name}": getattr(given, name.replace("-", "_")) for name in ("config-path", "config-dir", "config-name")
    }
    flags = tuple(word for flag, value in named.items() if value for word in (flag, value))
    source = Source(main, (given.config_name or CONFIG).removesuffix(".yaml"), typed, flags)
    if given.config_dir:
        _check_hidden([expanded(given.config_dir)], [CONF, main], f"--config-dir {given.config_dir}")
    homes = source.folders()
    if not any((home / f"{source.name}.yaml").is_file() for home in homes):
        known = {file.stem for home in homes for file in home.glob("*.yaml")}
        raise UserError(f"{no_such('config', source.name, known)} Add a folder with --config-dir.")
    return source


def _check_hidden(folders: Sequence[Path], earlier: Sequence[Path], typed: str) -> None:
    """Reject folders with a file that Hydra would not read, since a folder before them has one of the same name."""
    for folder in folders:
        for home in dict.fromkeys(earlier):
            for file in (*home.glob("*.yaml"), *home.glob("[!.]*/*.yaml"), *(home / "experiment").rglob("*.yaml")):
                theirs = folder / (name := file.relative_to(home))
                if theirs.is_file() and theirs.read_bytes() != file.read_bytes():
                    raise UserError(
                        f"{typed} has {name}, but Hydra would read the same file of {home.name}. Rename yours, or type "
                        f"--config-path {folder}, whose files take precedence."
                    )


def _folder(name: str, flag: str) -> Path:
    if not (folder := expanded(name).resolve()).is_dir():
        raise UserError(f"{flag}: there is no folder '{name}'.")
    return folder


def _place(place: str, word: str) -> str:
    """Return an entry of hydra.searchpath, which must exist."""
    kind, _, name = place.rpartition("://")
    if kind == "pkg":
        if not _folders(place):
            raise UserError(f"{word}: there is no package '{name}'.")
        return place
    return f"file://{_folder(name, word)}"


def _folders(place: str) -> list[Path]:
    kind, _, name = place.rpartition("://")
    if kind != "pkg":
        return [Path(name)]
    package, _, inside = name.partition(".")
    return [Path(home) / inside.replace(".", "/") for home in _homes(package)]


def plugin_folders() -> list[Path]:
    """Return the ``conf`` folders of plug-ins, inside a package or beside a single file."""
    homes = [Path(home) / "conf" for plugin in plugins() for home in _homes(plugin.module.partition(".")[0])]
    return [home for home in dict.fromkeys(homes) if home.is_dir() and home.resolve() != CONF.resolve()]


def _homes(package: str) -> Sequence[str]:
    """Return the folders of a package, or the folder of a single file; none if it is not installed."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    return spec.submodule_search_locations or ([str(Path(spec.origin).parent)] if spec.origin else [])


class Places(SearchPathPlugin):
    """Adds the folders of a source to the search path of Hydra."""

    source: ClassVar[Source] = USUAL

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for place in self.source.places():
            search_path.append("hearsay", place)


@contextmanager
def used(source: Source) -> Iterator[None]:
    """Let Hydra read from this source inside the context."""
    Plugins.instance().register(Places)
    before, Places.source = Places.source, source
    try:
        yield
    finally:
        Places.source = before
