"""Write YAML, and read YAML in which a key occurs only once."""

from __future__ import annotations

import math
from typing import Any

import yaml

from bench.base.errors import shortened

INT, FLOAT, MERGE = (f"tag:yaml.org,2002:{word}" for word in ("int", "float", "merge"))
INVALID = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""Further errors of PyYAML, for a value that does not fit its tag, such as !!timestamp x, and for deep nesting."""
LARGEST = 100_000
"""The largest number of values of a file, with every alias counted as often as it is used."""
LONGEST = 1000
"""The largest number of characters of a number."""


def load_unique(text: str, loader: type[UniqueLoader] | type[UniqueTexts] | None = None) -> Any:
    """Return the content of a YAML text.

    Raises:
        yaml.YAMLError: The text is not valid YAML, a mapping has a key twice, or the aliases make it very large.
    """
    try:
        return yaml.load(text, loader or UniqueLoader)
    except (yaml.YAMLError, *INVALID) as error:
        said = str(error) if isinstance(error, yaml.YAMLError) else f"a value cannot be read: {error}"
        raise yaml.YAMLError(shortened(" ".join(said.split()), "left out")) from error


def yaml_text(values: dict[str, Any]) -> str:
    """Return the values as YAML, by libyaml where it is installed: Python's own emitter takes ten times as long."""
    return str(yaml.dump(values, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False))


class UniqueKeys:
    """Rejects duplicate keys, as Hydra does in its configuration files, and very large values."""

    def get_single_node(self) -> yaml.Node | None:
        node = super().get_single_node()  # type: ignore[misc]
        if node is not None and _size(node, {}) > max(LARGEST, node.end_mark.index):  # a value has at least a character
            raise yaml.constructor.ConstructorError(
                problem=f"its aliases make more than {LARGEST} values; write fewer", problem_mark=node.start_mark
            )
        return node


class UniqueTexts(UniqueKeys, yaml.BaseLoader):
    """A loader whose scalars are all texts."""


class UniqueLoader(UniqueKeys, yaml.SafeLoader):
    """A safe loader.

    1:30 is a text, as in YAML 1.2: the time in which PyYAML reads it as 90 grows with the square of its length.
    """


def _number(loader: UniqueLoader, node: yaml.ScalarNode) -> Any:
    text = loader.construct_scalar(node)
    return text if ":" in text or len(text) > LONGEST else yaml.SafeLoader.yaml_constructors[node.tag](loader, node)


for tag in (INT, FLOAT):
    UniqueLoader.add_constructor(tag, _number)


def _size(node: yaml.Node, known: dict[int, float]) -> float:
    """Return the number of values of a node whose keys are unique; infinite if it contains itself."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in known:
        known[id(node)] = math.inf
        parts = node.value
        if isinstance(node, yaml.MappingNode):
            _refuse_doubles([key for key, _ in node.value])
            parts = [part for pair in node.value for part in pair]
        known[id(node)] = 1 + sum(_size(part, known) for part in parts)
    return known[id(node)]


def _refuse_doubles(keys: list[yaml.Node]) -> None:
    """Raise ``ConstructorError`` for a key that occurs twice, before PyYAML merges other mappings into this one."""
    seen = set()
    for key in keys:
        if isinstance(key, yaml.ScalarNode) and key.tag != MERGE:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key '{key.value}' occurs twice in a mapping; remove one of them",
                    problem_mark=key.start_mark,
                )
            seen.add(key.value)
