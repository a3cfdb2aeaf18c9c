"""What tells settings apart, and how it is said: the one place that tables, titles and notes request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import pandas as pd

from analysis.drawing.symbols import symbol
from bench.store.record import LATER, SINCE

Key = dict[str, Any]
"""The labels of a problem, as ``problems`` gives them."""
Setting = tuple[Key, pd.DataFrame]

NAMED = ("dataset", "topology", "nodes", "steps")
"""Said of every setting, in columns or words of their own."""
USUAL = {"partition": "even", "scale": 1.0, "init": "shared", "sampling": "replacement", "topology.lazy": False}
USUAL |= {name: value for name, value in SINCE.items() if name not in LATER}
"""Not said where it is the usual one."""
NEUTRAL = {**USUAL, **SINCE}
"""Said where it is not this, even if it is so in all settings."""
ALWAYS = ("partition.alpha", "dataset.spike_sd", "links.p")
"""Said wherever they have a value."""
BROUGHT = ("model", "batch_size", "dtype")
"""What a dataset brings, and is not said where it is the same whenever the dataset is."""
WATCHED = ("eval_every", "eval_spacing", "eval_samples")
"""How often a run looks at itself: said where nothing else tells two settings apart."""


class Apart:
    """In which labels these settings differ, and with which words each is told apart from the others."""

    def __init__(self, keys: Iterable[Key]) -> None:
        keys = list(keys)
        labels = [c for c in dict.fromkeys(c for key in keys for c in key) if c not in (*NAMED, *WATCHED)]
        self.labels = [c for c in labels if not _follows(c, _before(c), keys)]
        """Without those that follow from the choice that they are an option of, or from the dataset."""
        for label in WATCHED:
            self.labels += [] if _follows(label, [*NAMED, *self.labels], keys) else [label]

    def telling(self, key: Key, but: Sequence[str] = ()) -> Key:
        """What must be said of a setting beside its dataset, graph, nodes and steps: in what it may differ, and what is
        not as usual. ``but`` are labels that are said elsewhere, with their options."""
        told = {*self.labels, *ALWAYS, *(c for c, usual in NEUTRAL.items() if key.get(c) != usual)}
        known = [c for c in key if c in told and not _missing(key[c]) and not (c in USUAL and key[c] == USUAL[c])]
        return {c: key[c] for c in known if c not in but and c.partition(".")[0] not in but}

    def in_labels(self, key: Key, but: Sequence[str] = ()) -> str:
        """links=lossy links.p=0.1, as it would be typed."""
        return in_labels(self.telling(key, but))

    def in_words(self, key: Key) -> str:
        """topology=ring nodes=8 steps=300 compressor=top_k: what a reader asks for first, then the rest."""
        return in_labels({**{c: key[c] for c in NAMED if c != "dataset"}, **self.telling(key)})

    def side_by_side(self, drawn: Sequence[Key], also: Sequence[str] = ()) -> tuple[list[str], list[str]]:
        """Of settings that are drawn beside each other: what ends the title of each (", compressor top_k"), and a note
        of what they share but others may not. ``also`` are nodes or steps, where titles do not have them anyway; they
        are said where they do not follow from the dataset."""
        differ = [c for c in also if not _follows(c, ["dataset"], drawn)]
        differ += [c for c in self.labels if not _follows(c, [], drawn)]
        ends = ["".join(f", {in_title(c, key[c])}" for c in differ if not _missing(key.get(c))) for key in drawn]
        shared = in_labels({c: value for c, value in self.telling(drawn[0]).items() if c not in differ})
        return ends, [f"drawn for {shared}"] if shared else []

    def place(self, key: Key) -> tuple[Any, ...]:
        """For sorting: what is neutral first (reliable links, no compressor, even data), then the smaller."""
        far = sum(not _missing(key.get(c)) and key[c] != usual for c, usual in NEUTRAL.items())
        return far, *(_rank(key.get(c), NEUTRAL.get(c)) for c in self.labels)


def apart(settings: Iterable[Setting]) -> Apart:
    return Apart(key for key, _ in settings)


def in_order(settings: Iterable[Setting]) -> list[Setting]:
    """As they come, but those that differ in their network or batches alone stand together, the neutral one first."""
    settings = list(settings)
    labels, among = (*NAMED, *USUAL, *ALWAYS[:2]), apart(settings)
    first: dict[tuple[str, ...], int] = {}
    for number, (key, _) in enumerate(settings):
        first.setdefault(tuple(str(key.get(c)) for c in labels), number)
    return sorted(settings, key=lambda item: (first[tuple(str(item[0].get(c)) for c in labels)], among.place(item[0])))


def neutral_first(settings: Iterable[Setting]) -> list[Setting]:
    settings = list(settings)
    among = apart(settings)
    return sorted(settings, key=lambda item: among.place(item[0]))


def in_labels(words: Key) -> str:
    return " ".join(f"{label}={value}" for label, value in words.items())


def in_title(label: str, value: Any) -> str:
    """batch size 8"""
    return f"{symbol(label.rpartition('.')[2])} {f'{value:g}' if isinstance(value, float) else value}"


def _before(label: str) -> list[str]:
    """What a label may follow from."""
    group = label.partition(".")[0]
    own = [group] if group != label else []
    return [*own, "dataset"] if group in BROUGHT else own


def _follows(label: str, others: Sequence[str], keys: Sequence[Key]) -> bool:
    """Whether settings that agree in the others agree in a label."""
    found: dict[tuple[str, ...], set[str]] = {}
    for key in keys:
        found.setdefault(tuple(str(key.get(c)) for c in others), set()).add(str(key.get(label)))
    return all(len(values) == 1 for values in found.values())


def _missing(value: Any) -> bool:
    return value is None or bool(pd.isna(value))


def _rank(value: Any, neutral: Any) -> tuple[int, float, str]:
    if _missing(value):
        return 0, 0.0, ""
    number = isinstance(value, Real) and not isinstance(value, bool)
    return 1 + (value != neutral), float(value) if number else 0.0, "" if number else str(value)
