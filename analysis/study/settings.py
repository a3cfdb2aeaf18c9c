"""The labels that distinguish settings, for tables, titles and notes."""

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
"""Labels that are always shown, in columns or words of their own."""
USUAL = {"partition": "even", "scale": 1.0, "init": "shared", "sampling": "replacement", "topology.lazy": False}
USUAL |= {name: value for name, value in SINCE.items() if name not in LATER}
"""Labels that are not shown if they have this value."""
NEUTRAL = {**USUAL, **SINCE}
"""Labels that are shown if they do not have this value, even if they are equal in all settings."""
ALWAYS = ("partition.alpha", "dataset.spike_sd", "links.p")
"""Labels that are shown whenever they have a value."""
BROUGHT = ("model", "batch_size", "dtype")
"""Defaults of a dataset, which are not shown if the dataset determines them."""
WATCHED = ("eval_every", "eval_spacing", "eval_samples")
"""The evaluation schedule, which is shown only if nothing else distinguishes two settings."""

QUIET = (*WATCHED, "validation")
"""Labels that are not in the titles of panels if the dataset determines them; captions have the validation split."""

TITLES = {"validation": "validation split", "eval_every": "evaluation interval", "init": "initial points"}
TITLES |= {"equal": "equal shards", "exact": "exact gradients", "slow": "slow factor"}
"""Words for labels in titles and captions, where the label alone is unclear."""


class Apart:
    """The labels in which settings differ, and texts that distinguish each setting."""

    def __init__(self, keys: Iterable[Key]) -> None:
        keys = list(keys)
        labels = [c for c in dict.fromkeys(c for key in keys for c in key) if c not in (*NAMED, *WATCHED)]
        self.labels = [c for c in labels if not follows(c, _before(c), keys)]
        """Labels that another label or the dataset does not determine."""
        for label in WATCHED:
            self.labels += [] if follows(label, [*NAMED, *self.labels], keys) else [label]

    def telling(self, key: Key, but: Sequence[str] = ()) -> Key:
        """Return the labels to show of a setting, beyond ``NAMED``: those that differ or have unusual values.

        Labels in ``but`` and their options are excluded.
        """
        shown = {*self.labels, *ALWAYS, *(c for c, usual in NEUTRAL.items() if key.get(c) != usual)}
        known = [c for c in key if c in shown and not _missing(key[c]) and not (c in USUAL and key[c] == USUAL[c])]
        return {c: key[c] for c in known if c not in but and c.partition(".")[0] not in but}

    def in_labels(self, key: Key, but: Sequence[str] = ()) -> str:
        """links=lossy links.p=0.1"""
        return in_labels(self.telling(key, but))

    def in_words(self, key: Key) -> str:
        """topology=ring nodes=8 steps=300 compressor=top_k"""
        return in_labels({**{c: key[c] for c in NAMED if c != "dataset"}, **self.telling(key)})

    def side_by_side(self, drawn: Sequence[Key], also: Sequence[str] = ()) -> tuple[list[str], list[str]]:
        """Return the end of the title of each drawn setting (", compressor top_k"), and a note on their common labels.

        ``also`` are nodes or steps, which are shown unless the dataset determines them.
        """
        differ = [c for c in also if not follows(c, ["dataset"], drawn)]
        differ += [c for c in self.labels if not follows(c, ["dataset"] if c in QUIET else [], drawn)]
        ends = ["".join(f", {in_title(c, key[c])}" for c in differ if not _missing(key.get(c))) for key in drawn]
        same = [c for c in self.telling(drawn[0]) if c not in differ and follows(c, [], drawn)]
        shared = in_labels({c: drawn[0][c] for c in same})
        return ends, [f"drawn for {shared}"] if shared else []

    def place(self, key: Key) -> tuple[Any, ...]:
        """Return a sort key: neutral settings first (reliable links, no compressor, even data), then smaller values."""
        far = sum(not _missing(key.get(c)) and key[c] != usual for c, usual in NEUTRAL.items())
        return far, *(_rank(key.get(c), NEUTRAL.get(c)) for c in self.labels)


def apart(settings: Iterable[Setting]) -> Apart:
    return Apart(key for key, _ in settings)


def in_order(settings: Iterable[Setting]) -> list[Setting]:
    """Group the settings that differ only in their network or batches, the neutral one first."""
    settings = list(settings)
    labels, among = (*NAMED, *USUAL, *ALWAYS[:2]), apart(settings)
    groups = [tuple(str(key.get(c)) for c in labels) for key, _ in settings]
    order = sorted(range(len(settings)), key=lambda k: (groups.index(groups[k]), among.place(settings[k][0])))
    return [settings[k] for k in order]


def neutral_first(settings: Iterable[Setting]) -> list[Setting]:
    settings = list(settings)
    among = apart(settings)
    return sorted(settings, key=lambda item: among.place(item[0]))


def in_labels(words: Key) -> str:
    return " ".join(f"{label}={value}" for label, value in words.items())


def in_title(label: str, value: Any) -> str:
    """batch size 8"""
    name = label.rpartition(".")[2]
    return f"{TITLES.get(name) or symbol(name)} {f'{value:g}' if isinstance(value, float) else value}"


def _before(label: str) -> list[str]:
    """Return the labels that may determine a label."""
    group = label.partition(".")[0]
    return [group] * (group != label) + ["dataset"] * (group in BROUGHT)


def follows(label: str, others: Sequence[str], keys: Sequence[Key]) -> bool:
    """Return whether the other labels determine a label in these settings."""
    pairs = {(tuple(str(key.get(c)) for c in others), str(key.get(label))) for key in keys}
    return len(pairs) == len({group for group, _ in pairs})


def _missing(value: Any) -> bool:
    return value is None or bool(pd.isna(value))


def _rank(value: Any, neutral: Any) -> tuple[int, float, str]:
    if _missing(value):
        return 0, 0.0, ""
    number = isinstance(value, Real) and not isinstance(value, bool)
    return 1 + (value != neutral), float(value) if number else 0.0, "" if number else str(value)
