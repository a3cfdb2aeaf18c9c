"""Colors, dashes and markers of the methods. Any two built-in methods differ in at least two of the three."""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from analysis.results.labels import FAMILIES

Color = tuple[float, ...]
Look = tuple[Color, Any, str]
"""Color, dash, marker."""

HEX = ("#bf2d06", "#0066ac", "#00a680", "#bf80b3", "#d97900", "#8c5346", "#9f6cff", "#606673")
COLORS: tuple[Color, ...] = tuple(map(to_rgb, HEX))
"""Distinct also for color-blind readers, with a contrast of 3:1 on white and on the dark page."""
DASHES: tuple[Any, ...] = (
    "-",
    (0, (4, 1.6)),
    (0, (1, 1)),
    (0, (5, 1, 1, 1)),
    (0, (8, 2)),
    (0, (4, 1, 1, 1, 1, 1)),
    (0, (2, 2)),
    (0, (10, 1.5, 3, 1.5)),
)
MARKERS = ("<", "s", "^", "D", "v", "P", "X", "*", "o")
SPARE = (">", "h", "p", "d")
"""Markers of plug-ins and of variants of a method."""
DARKEST, LIGHTEST = 0.1185, 0.299
"""Luminances between which a color has a contrast of 3:1 on the dark page and on white."""


def shipped() -> dict[str, Look]:
    """Return the look of every built-in method. The first family starts with a dash, since it is drawn over others."""
    lines = [line.split() for line in FAMILIES.strip().splitlines()]
    return {
        name: row_of_looks(row)[(place + (row == 0)) % len(DASHES)]
        for row, line in enumerate(lines)
        for place, name in enumerate(line)
        if name != "-"
    }


def row_of_looks(row: int) -> list[Look]:
    """Return a look for each dash in one color. Any two looks of any rows differ in at least two parts."""
    return [(COLORS[row], dash, MARKERS[(row - place) % len(MARKERS)]) for place, dash in enumerate(DASHES)]


def spare(families: Mapping[str, str], known: Mapping[str, Look], present: Iterable[Look]) -> dict[str, Look]:
    """Return looks of plug-in methods, given with their families: the next look in the color of the family that differs
    in two parts from all ``present`` ones, or one with a spare marker."""
    colors = {name: look[0] for name, look in known.items()}
    taken, out = list(present), {}
    sizes, members = Counter(families.values()), Counter(look[0] for look in taken)
    for family in sorted(sizes, key=lambda name: (name not in known, -sizes[name], name)):
        if family not in colors:
            first = zlib.crc32(family.encode()) % len(COLORS)  # often the same in other results
            colors[family] = min((*COLORS[first:], *COLORS[:first]), key=lambda color: members[color])
        members[colors[family]] += sizes[family]
    for name, family in families.items():
        color = colors[family]
        looks = row_of_looks(COLORS.index(color)) if color in COLORS else []
        looks += [(color, dash, marker) for marker, dash in product((*SPARE, *MARKERS), DASHES)]
        out[name] = max(looks, key=lambda look: min([2, *(differences(look, other) for other in taken)]))
        taken.append(out[name])
    return out


def differences(one: Look, other: Look) -> int:
    """Return in how many of color, dash and marker two looks differ."""
    return sum(a != b for a, b in zip(one, other, strict=True))


def shade(color: Color, number: int) -> Color:
    """Return the color, or its lightest or darkest shade with enough contrast, in turns."""
    parts = np.asarray(color[:3])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    light = float(linear @ (0.2126, 0.7152, 0.0722))
    if number % 3 == 0:
        return tuple(color)
    lighter = linear + (1 - linear) * (LIGHTEST - light) / (1 - light)
    linear = lighter if number % 3 == 1 else linear * DARKEST / light
    back = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return tuple(float(part) for part in np.clip(back, 0, 1))
