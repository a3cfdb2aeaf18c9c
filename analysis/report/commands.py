"""Commands that repeat a sweep, a run, or the report itself."""

import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from analysis.results.results import Results
from analysis.study.settings import NEUTRAL
from bench.base.cells import FOLDER, FOLDERS, NAME
from bench.base.registry import MODULES
from bench.store.record import HOW

MISSING = object()
UNSET = {**NEUTRAL, "schedule_nodes": None, "eval_samples": None}
"""Defaults of settings, which commands omit."""
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DEEP = 10
"""The largest accepted depth of a configuration. Deeper YAML could crash the loader, which has no limit."""
LONGEST, CONFIG, SCALAR = 1 << 15, 1 << 14, 1000
"""The longest shown sweep, and the longest configuration and value that are read, in characters. The time for a sweep,
and for a number in base 60, grows with the square of its length."""
PLAIN = re.compile(r"(?!(?:null|true|false|nan|inf)$)[A-Za-z_][\w./:@+-]*", re.IGNORECASE)
"""Text that Hydra reads as text without quotes."""


def as_typed(words: Sequence[str]) -> str:
    """Return the command with the plug-ins of this process, and with paths made portable."""
    path, cells = (
        os.pathsep.join(map(portable, os.environ.get(name, "").split(os.pathsep))) for name in ("PYTHONPATH", FOLDERS)
    )
    return with_plugins([portable(word) for word in words], os.environ.get(MODULES), path, cells)


def portable(text: str) -> str:
    """Remove the folders of this machine: /here/results becomes results, /elsewhere/x/page.html becomes page.html."""
    before, path = text[: text.find("=/") + 1], Path(text[text.find("=/") + 1 :])
    if not path.is_absolute():
        return text
    return before + str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path.name)


def with_plugins(words: Sequence[str], modules: str | None, path: str | None, cells: str | None = None) -> str:
    given = {"PYTHONPATH": path, FOLDERS: cells, MODULES: modules}
    return " ".join([*(f"{name}={shlex.quote(value)}" for name, value in given.items() if value), shlex.join(words)])


def sweep_commands(results: Results) -> list[tuple[str, int]]:
    """Return the commands in the manifests of these runs, with the number of runs of each."""
    keys = ("sweep", "plugins", "pythonpath")
    known = (fact for fact in results.facts.values() if 0 < len(fact.get("sweep") or "") <= LONGEST)
    found = Counter(tuple(fact.get(key) for key in keys) for fact in known)
    return [
        (run_py(_sweep_words(str(sweep)), {"plugins": modules, "pythonpath": path}, results.source), count)
        for (sweep, modules, path), count in found.most_common()
    ]


def run_command(config: str, fact: Mapping[str, Any], source: str) -> str:
    """Return the command for one run from its YAML config, without defaults; empty if the config is invalid."""
    try:
        values = yaml.load(config, Loader=LOADER) if len(config) <= CONFIG and _is_plain(config) else None
        return run_py(list(_settings(values)), fact, source) if isinstance(values, dict) else ""
    except (yaml.YAMLError, ValueError, TypeError, ArithmeticError):  # such as an invalid date or a too large number
        return ""


def _is_plain(config: str) -> bool:
    """Return whether a config is not too deep, and has no long values, tags or anchors, which may expand endlessly."""
    depth = 0
    for event in yaml.parse(config, Loader=LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEP or getattr(event, "anchor", None) or getattr(event, "tag", None):
            return False
        if len(getattr(event, "value", "")) > SCALAR:
            return False
    return True


def run_py(words: Sequence[str], fact: Mapping[str, Any], source: str) -> str:
    """Return the call of run.py for runs of a folder."""
    several = ["-m"] if any("," in word for word in words) else []
    elsewhere = (Path(source) / "runs").is_dir() and Path(source) != Path("results")
    results = [f"results={portable(source)}"] if elsewhere else []
    command = ["python", "bench/run.py", *several, *words, *results]
    modules = fact.get("plugins")
    notebook = any(map(NAME.fullmatch, (modules or "").split(",")))
    return with_plugins(command, modules, fact.get("pythonpath"), f"{portable(source)}/{FOLDER}" if notebook else None)


def _sweep_words(sweep: str) -> list[str]:
    try:
        words = shlex.split(sweep)
    except ValueError:  # an unbalanced quote, in an older manifest
        words = sweep.split()
    if len(words) != 1 or "=" in sweep:
        return words
    return [] if sweep == "defaults" else [f"experiment={sweep}"]


def _settings(config: Mapping[str, Any]) -> Iterator[str]:
    for key, value in config.items():
        group = value if isinstance(value, dict) and "name" in value else {"name": value}
        for option, chosen in group.items():
            label = key if option == "name" else f"{key}.{option}"
            if key not in HOW and chosen != UNSET.get(label, MISSING):
                yield f"{label}={_value(chosen)}"


def _value(value: Any) -> str:
    """Write a value in Hydra's grammar."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return f"[{','.join(map(_value, value))}]"
    if isinstance(value, str) and not PLAIN.fullmatch(value):
        return "'" + value.replace("'", "\\'") + "'"
    return value if isinstance(value, str) else json.dumps(value)
