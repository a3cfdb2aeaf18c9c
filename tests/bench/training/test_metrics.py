"""Metrics of plug-ins."""

import pytest
import torch

from bench.base.registry import metrics
from bench.training.metrics import metric
from tests.helpers.configs import config, rows


@pytest.fixture
def spoiled(monkeypatch):
    """Two metrics: the first changes all tensors of its view in place, the second reads them."""
    monkeypatch.setattr(metrics, "_items", {})

    @metric("a_spoiler")
    def spoiler(view):
        for tensor in (view.x, view.gradient, view.train_loss, view.test_loss, *view.state):
            tensor.zero_()
        return view.train_loss

    @metric("b_reader")
    def reader(view):
        away = view.total(view.state.x.double().abs().sum(dim=(1, 2)))
        return away + torch.linalg.vector_norm(view.x, dim=-1) + view.gradient.abs().sum(-1) + view.train_loss


@pytest.mark.parametrize("changes", [{}, {"algo": "adpsgd", "engine": "events", "network": {"name": "lan"}}])
def test_a_metric_that_changes_its_view_in_place_changes_nothing_else(spoiled, changes, monkeypatch):
    run = config(**changes, seed=1)
    (seen,) = rows(run)
    monkeypatch.setattr(metrics, "_items", {})
    (plain,) = rows(run)
    for row, expected in zip(seen, plain, strict=True):
        assert row.pop("a_spoiler") == 0
        assert row.pop("b_reader") > 0
        assert {k: v for k, v in row.items() if not k.endswith("_s")} == {
            k: v for k, v in expected.items() if not k.endswith("_s")
        }
