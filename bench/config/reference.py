"""The comments in the files of conf, and the page docs/settings.md, which is generated from them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench.config.names import CONF
from bench.config.run_config import GROUPS

ELSEWHERE = {
    "algo": "[methods.md](methods.md) lists the methods. `python bench/methods.py NAME` prints the options of one.",
    "experiment": "[sweeps.md](sweeps.md#your-own-configuration-files) explains experiment files.",
}
"""Groups whose members are documented on another page."""
INTRODUCTION = """# Settings

Type settings as `NAME=VALUE` after `python bench/run.py`. With `-m`, commas separate the values of a sweep. Set an
option of a group member as `GROUP.OPTION=VALUE`, for example `links=lossy links.p=0.3`. `python bench/run.py --cfg job`
prints all settings of a run with their values. hearsay rejects unknown names and invalid values before any run starts.

`python bench/methods.py --settings` generates this page from the comments in [conf](../conf)."""

NO_OPTION = ("name", "defaults", "dataset")
KEY = re.compile(r"\s*(?:- )?(?:override /)?(\w+):\s*([^#]*?)\s*(?:#\s*(.*))?")
MORE = re.compile(r"\s+#\s*(.*)")


class Described(NamedTuple):
    """A key of a yaml file."""

    value: str
    comment: str


def described(file: Path) -> dict[str, Described]:
    """Return each key of a yaml file with its comment; indented comment lines continue the one above."""
    found: dict[str, Described] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if found and (more := MORE.fullmatch(line)):
            key, (value, comment) = found.popitem()
            found[key] = Described(value, f"{comment} {more[1]}".strip())
        elif match := KEY.fullmatch(line):
            found[match[1]] = Described(match[2], match[3] or "")
    return found


def settings_page() -> str:
    """Return docs/settings.md: all settings, then one section for each group."""
    keys = {key: found for key, found in described(CONF / "config.yaml").items() if key != "defaults"}
    groups = {key: keys.pop(key) for key in [*keys] if key in (*GROUPS, "experiment")}
    sections = (text for group, found in groups.items() for text in _group(group, found))
    return "\n".join([INTRODUCTION, *_values(keys), *sections])


def _values(settings: dict[str, Described]) -> Iterator[str]:
    yield "\n## Single values\n"
    yield "| setting | default | meaning |\n|---|---|---|"
    yield from (f"| `{key}` | `{value}` | {_cell(comment)} |" for key, (value, comment) in settings.items())


def _group(group: str, found: Described) -> Iterator[str]:
    """Yield the section of one group: a row for each member, with its options and their defaults."""
    yield f"\n## {group}\n"
    yield f"Default: `{found.value}`. Meaning: {_cell(found.comment)}.\n"
    if group in ELSEWHERE:
        yield ELSEWHERE[group]
        return
    yield f"| `{group}` | meaning | options and defaults |\n|---|---|---|"
    for file in sorted((CONF / group).glob("*.yaml")):
        yield f"| `{file.stem}` | {_cell(meaning(file))} | {'<br>'.join(_options(file))} |"


def meaning(file: Path) -> str:
    """Return the first comment of a file, or an empty text."""
    found = re.search(r"^(?:name:[^#\n]*)?# *([^@\n]+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else ""


def _options(file: Path) -> Iterator[str]:
    for key, (value, comment) in described(file).items():
        if key not in NO_OPTION:
            yield f"`{key}={value}` {_cell(comment)}".rstrip()


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
