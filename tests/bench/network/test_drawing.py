"""Drawings: layouts, arrows, captions, lost edges."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from bench.network.drawing import Graph, caption, positions, svg
from bench.network.drawn import build_network
from bench.network.mixing import build_mixing


def test_every_arc_has_a_head_at_its_target():
    """Of a triangle in SVG, the tip is the corner next to the target and the line ends at its base."""
    mixing = build_mixing("directed_ring", 6)
    picture = svg(mixing)
    assert picture.count("<polygon") == picture.count("<line") == 6
    assert "<polygon" not in svg(build_mixing("ring", 6))
    xy = np.column_stack([positions(mixing)[:, 0], 1 - positions(mixing)[:, 1]]) * 80 + 8
    for (i, j), points in zip(mixing.edges, re.findall(r'points="([^"]+)"', picture), strict=True):
        corners = np.array([[float(part) for part in point.split(",")] for point in points.split()])
        to_target = np.linalg.norm(corners - xy[j], axis=1)
        assert to_target.argmin() == 0
        assert to_target[0] == pytest.approx(4.0, abs=0.2)  # just outside the node
        assert (np.linalg.norm(corners - xy[i], axis=1) > to_target).all()


def test_a_grid_is_drawn_as_a_grid():
    """A grid of 4 × 4 is drawn as one: all edges about as long, corners farthest."""
    mixing = build_mixing("grid", 16)
    xy = positions(mixing)
    lengths = np.array([np.linalg.norm(xy[i] - xy[j]) for i, j in mixing.edges])
    assert lengths.max() / lengths.min() < 1.3
    assert set(np.linalg.norm(xy - xy.mean(axis=0), axis=1).argsort()[-4:]) == {0, 3, 12, 15}


def test_the_caption_names_the_round_of_a_random_graph():
    assert caption(build_network("matching", 8, {})) == "matching, 8 nodes, round 0"
    assert caption(build_mixing("ring", 8)) == "ring, 8 nodes"
    picture = svg(build_network("matching", 8, {}))
    assert "round 0</title>" in picture
    assert picture.count("<line") == 4


def test_lost_edges_are_dashed():
    assert svg(build_mixing("ring", 8), lost=[(0, 1), (4, 5)]).count("dasharray") == 2


def test_escapes_the_name_of_a_graph_of_somebody_else():
    picture = svg(Graph("</title><script>alert(1)</script>", 2, [(0, 1)]))
    assert "<script" not in picture
    assert ElementTree.fromstring(picture)[0].text == "</title><script>alert(1)</script>, 2 nodes"
