"""Methods stay apart for color-blind readers, on white paper and on the dark page. Measured, not looked at."""

import itertools
import re

import numpy as np
import pytest

from analysis.drawing.palette import COLORS
from analysis.drawing.style import styles, variant
from bench.base.home import ROOT
from tests.helpers.invented import results_of

SEEN_BY = {
    "everyone": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
"""What a reader sees of linear RGB: Machado, Oliveira, Fernandes 2009, severity 1 (doi:10.1109/TVCG.2009.113)."""
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
CLEAR, CONTRAST = 20.0, 3.0
"""CIE76 distance that is clear at a glance (2.3 is just noticeable); the contrast that WCAG 2.1 asks of graphics."""
SHIPPED = sorted(path.stem for path in (ROOT / "conf" / "algo").glob("*.yaml"))


def linear(color):
    parts = np.asarray(color, dtype=float)
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(color, matrix):
    white = TO_XYZ.sum(axis=1)
    t = TO_XYZ @ np.clip(np.asarray(matrix) @ linear(color), 0, 1) / white
    f = np.where(t > 216 / 24389, np.cbrt(t), (24389 / 27 * t + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one, other):
    light, dark = sorted((float(TO_XYZ[1] @ linear(color)) for color in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def papers():
    """White, and the dark page as its style sheet has it."""
    css = (ROOT / "analysis" / "report" / "page.css").read_text()
    (dark,) = {found for found in re.findall(r"--paper: #(\w{6})", css) if found != "ffffff"}
    return {"white": (1.0, 1.0, 1.0), "dark": tuple(int(dark[at : at + 2], 16) / 255 for at in (0, 2, 4))}


def differences(one, other):
    return sum(getattr(one, name) != getattr(other, name) for name in ("color", "dash", "marker"))


@pytest.mark.parametrize("reader", SEEN_BY)
def test_any_two_colors_are_clearly_distinct(reader):
    seen = [lab(color, SEEN_BY[reader]) for color in COLORS]
    assert min(np.linalg.norm(one - other) for one, other in itertools.combinations(seen, 2)) >= CLEAR


@pytest.mark.parametrize("paper", papers())
def test_every_color_and_shade_has_contrast_on_paper_and_page(paper):
    looks = [variant(style, number) for style in styles(SHIPPED).values() for number in range(4)]
    assert min(contrast(style.color, papers()[paper]) for style in looks) >= CONTRAST


def test_any_two_shipped_methods_differ_in_two_of_color_dash_and_marker():
    look = styles(SHIPPED)
    assert len(look) == len(SHIPPED) >= 45
    close = [(a, b) for a, b in itertools.combinations(look, 2) if differences(look[a], look[b]) < 2]
    assert close == []


def test_a_shipped_method_looks_the_same_whatever_is_beside_it():
    alone = {name: styles([name])[name] for name in SHIPPED}
    together = styles([*SHIPPED, "a_plug_in"])
    assert all(differences(alone[name], together[name]) == 0 for name in SHIPPED)


def test_plug_ins_take_what_is_free_beside_the_methods_of_their_runs():
    made = results_of({"dsgd": 4, "tracking": 5, "own": 6, "adaptive": 3, "compressed": 6, "local": 4, "dual": 5})
    look = styles(made.runs["algo"].unique(), made)
    assert min(differences(look[a], look[b]) for a, b in itertools.combinations(look, 2)) >= 2
    assert {look[f"dsgd_{number}"].color for number in range(4)} == {styles(["dsgd"])["dsgd"].color}
    some = styles(["tracking_1", "dual_0"], made)
    assert all(differences(look[name], some[name]) == 0 for name in some)  # the same in all figures of these runs


def test_forms_of_a_method_differ_from_it_and_from_each_other():
    forms = [variant(styles(["choco"])["choco"], number) for number in range(5)]
    assert min(differences(a, b) for a, b in itertools.combinations(forms, 2)) >= 2
