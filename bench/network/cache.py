"""What was computed about matrices, by their content: once in the runner, which hands it to its ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_known: dict[str, Any] = {}


def compute_once(what: str, nodes: int, content: str, compute: Callable[[], Any]) -> Any:
    """What ``compute`` gives, or gave for the same content in this process or in the runner: plain numbers and words,
    lists and mappings of them."""
    key = f"{nodes} nodes, {what} of {content}"
    if key not in _known:
        _known[key] = compute()
    return _known[key]


def about(nodes: int) -> dict[str, Any]:
    """All that is known of networks of this size, to be handed over."""
    return {key: value for key, value in list(_known.items()) if key.startswith(f"{nodes} nodes, ")}


def learn(known: Mapping[str, Any]) -> None:
    """What another process has computed."""
    _known.update(known)
