"""One small file per model."""

from bench.models.model import Model, model

__all__ = ["Model", "model"]
