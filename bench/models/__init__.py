"""Models, one small file each, and their registration."""

from bench.models.model import Model, model
from bench.models.module import torch_model

__all__ = ["Model", "model", "torch_model"]
