"""Where configurations are read from: conf, and what a command line or a plug-in adds to it."""

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
from bench.base.registry import no_such, plugins
from bench.config.names import CONF, not_a_setting

CONFIG = "config"
"""The file that every configuration begins with, unless --config-name names another."""
SEARCHPATH = "hydra.searchpath="


class Source(NamedTuple):
    """What Hydra reads, in its order: ``main``, the places that were typed, conf, the folders of plug-ins."""

    main: Path = CONF
    name: str = CONFIG
    typed: tuple[str, ...] = ()  # in Hydra's form: file:///home/me/conf, pkg://package.conf
    flags: tuple[str, ...] = ()  # as typed, to repeat the command

    def places(self) -> list[str]:
        """All but the first, in Hydra's form."""
        ours = [CONF, *plugin_folders()]
        return [*self.typed, *(f"file://{folder}" for folder in ours if folder != self.main)]

    def folders(self) -> list[Path]:
        return [self.main, *(folder for place in self.places() for folder in _folders(place))]

    def divide(self, words: Sequence[str]) -> tuple[Source, list[str]]:
        """The source with the places that are typed as hydra.searchpath, and the other words."""
        typed: list[str] = []
        places = [word for word in words if word.lstrip("+").startswith(SEARCHPATH)]
        for word in places:
            try:
                value = OverridesParser.create().parse_overrides([word])[0].value()
            except OverrideParseException as error:
                raise UserError(not_a_setting(word, str(error))) from error
            typed += [_place(str(place), word) for place in (value if isinstance(value, list) else [value])]
        more = self._replace(typed=(*self.typed, *typed), flags=(*self.flags, *places))
        return more, [word for word in words if word not in places]


USUAL = Source()


def source_of(given: argparse.Namespace) -> Source:
    """What these flags name, or a UserError where it is not there."""
    main = Path(_folder(given.config_path, "--config-path")) if given.config_path else CONF
    typed = (f"file://{_folder(given.config_dir, '--config-dir')}",) if given.config_dir else ()
    named = {
        f"--{name}": getattr(given, name.replace("-", "_")) for name in ("config-path", "config-dir", "config-name")
    }
    flags = tuple(word for flag, value in named.items() if value for word in (flag, value))
    source = Source(main, (given.config_name or CONFIG).removesuffix(".yaml"), typed, flags)
    for ours in CONF.rglob("*.yaml") if given.config_dir else ():
        theirs = Path(given.config_dir) / (name := ours.relative_to(CONF))
        if theirs.is_file() and theirs.read_bytes() != ours.read_bytes():
            raise UserError(
                f"--config-dir {given.config_dir} has {name}, and so has conf, whose file would be read. Rename yours, "
                f"or type --config-path {given.config_dir}: its files win over those of conf."
            )
    homes = source.folders()
    if not any((home / f"{source.name}.yaml").is_file() for home in homes):
        known = {file.stem for home in homes for file in home.glob("*.yaml")}
        raise UserError(f"{no_such('config', source.name, known)} --config-dir adds a folder to look in.")
    return source


def _folder(name: str, flag: str) -> Path:
    if not (folder := Path(name).expanduser().resolve()).is_dir():
        raise UserError(f"There is no folder '{name}', which {flag} names.")
    return folder


def _place(place: str, word: str) -> str:
    """A place of hydra.searchpath, which must be there."""
    kind, _, name = place.rpartition("://")
    if kind == "pkg":
        if not _folders(place):
            raise UserError(f"There is no package '{name}', which {word} names.")
        return place
    return f"file://{_folder(name, word)}"


def _folders(place: str) -> list[Path]:
    kind, _, name = place.rpartition("://")
    if kind != "pkg":
        return [Path(name)]
    package, _, inside = name.partition(".")
    return [Path(home) / inside.replace(".", "/") for home in _homes(package)]


def plugin_folders() -> list[Path]:
    """The ``conf`` folders that plug-ins brought: in a package, or beside a single file."""
    homes = [Path(home) / "conf" for plugin in plugins() for home in _homes(plugin.module.partition(".")[0])]
    return [home for home in dict.fromkeys(homes) if home.is_dir() and home.resolve() != CONF.resolve()]


def _homes(package: str) -> Sequence[str]:
    """The folders of a package, or that of a single file; none where there is no such package."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    return spec.submodule_search_locations or ([str(Path(spec.origin).parent)] if spec.origin else [])


class Places(SearchPathPlugin):
    """Tells Hydra where to look, whichever way it is started."""

    source: ClassVar[Source] = USUAL

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for place in self.source.places():
            search_path.append("hearsay", place)


@contextmanager
def used(source: Source) -> Iterator[None]:
    """Within, Hydra reads from this source when it starts."""
    Plugins.instance().register(Places)
    before, Places.source = Places.source, source
    try:
        yield
    finally:
        Places.source = before
