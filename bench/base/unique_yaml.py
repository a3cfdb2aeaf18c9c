"""YAML files in which a key may occur only once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml

MERGE = "tag:yaml.org,2002:merge"


def load_unique(text: str) -> Any:
    """Return the content of a YAML text.

    Raises:
        yaml.YAMLError: The text is not valid YAML, or a mapping has a key twice: YAML would use the last value.
    """
    return yaml.load(text, UniqueLoader)


class UniqueLoader(yaml.SafeLoader):
    """A safe loader that rejects duplicate keys, as Hydra does in its configuration files."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key, _ in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) and key.tag != MERGE else None
            if name is not None and name in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key '{name}' occurs twice in a mapping; remove one of them",
                    problem_mark=key.start_mark,
                )
            seen.add(name)
        return super().construct_mapping(node, deep)
