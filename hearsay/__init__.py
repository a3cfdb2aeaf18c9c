"""The Python interface of hearsay, for notebooks and scripts.

Every name is imported on first use, so that ``import hearsay`` takes milliseconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.results.results import Results as Results
    from bench import __version__ as __version__
    from bench.base.errors import UserError as UserError
    from bench.contracts import CheckFailed as CheckFailed
    from bench.contracts import check_algorithm as check_algorithm
    from bench.contracts import simulate as simulate
    from bench.method import Algorithm as Algorithm
    from bench.method import Asynchronous as Asynchronous
    from bench.method import Grad as Grad
    from bench.method import Mix as Mix
    from bench.method import Node as Node
    from bench.method import Steps as Steps
    from bench.method import algorithm as algorithm
    from bench.method import schedule as schedule
    from bench.models import Model as Model
    from bench.models import model as model
    from bench.models import torch_model as torch_model
    from bench.network import topology as topology
    from bench.network.weights import weights as weights
    from bench.problem import Arrays as Arrays
    from bench.problem import Problem as Problem
    from bench.problem import dataset as dataset
    from bench.problem import loss as loss
    from bench.problem import partition as partition
    from bench.problem import regularizer as regularizer
    from bench.training.metrics import View as View
    from bench.training.metrics import metric as metric
    from hearsay.plugins import plugin as plugin
    from hearsay.reading import figure as figure
    from hearsay.reading import load as load
    from hearsay.reading import table as table
    from hearsay.registered import methods as methods
    from hearsay.sweeps import sweep as sweep

HOMES = {
    "hearsay.sweeps": ("sweep",),
    "hearsay.reading": ("figure", "load", "table"),
    "hearsay.registered": ("methods",),
    "hearsay.plugins": ("plugin",),
    "bench": ("__version__",),
    "bench.base.errors": ("UserError",),
    "bench.contracts": ("CheckFailed", "check_algorithm", "simulate"),
    "bench.method": ("Algorithm", "Asynchronous", "Grad", "Mix", "Node", "Steps", "algorithm", "schedule"),
    "bench.models": ("Model", "model", "torch_model"),
    "bench.network": ("topology",),
    "bench.network.weights": ("weights",),
    "bench.problem": ("Arrays", "Problem", "dataset", "loss", "partition", "regularizer"),
    "bench.training.metrics": ("View", "metric"),
    "analysis.results.results": ("Results",),
}
"""The modules that define the public names."""
_HOME = {name: home for home, names in HOMES.items() for name in names}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
