"""The pages of datasets, models, compressors and networks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from bench.base.registry import Registry, compressors, datasets, models, networks, recipes
from bench.config.names import CONF
from bench.config.reference import described
from bench.network.compressor import message_draws
from hearsay_site.text import ORPHAN, catalog, facts, options, purpose

SIZE = 1000
"""The length of the vectors for which compressors are measured."""


@dataclass(frozen=True)
class Kind:
    """A kind of things that a run chooses by name."""

    group: str
    title: str
    members: Registry[object]
    facts: Callable[[str], dict[str, object]]
    more: str


def of_dataset(name: str) -> dict[str, object]:
    file = CONF / "dataset" / f"{name}.yaml"
    found = described(file) if file.is_file() else {}
    recipe = {each: recipes[each] for each in recipes}.get(name)
    return {
        "data": "downloaded on first use" if recipe else "generated, bundled, or from your file",
        "sources": "; ".join(dict.fromkeys(each.title for each in recipe.sources)) if recipe else "",
        "sha256 of the arrays": f"`{recipe.sha256}`" if recipe and recipe.sha256 else "",
        "usual model": f"`{found['model'].value}`" if "model" in found else "",
        "usual batch size": found["batch_size"].value if "batch_size" in found else "",
    }


def of_model(name: str) -> dict[str, object]:
    return {"defined in": source_of(models[name])}


def of_compressor(name: str) -> dict[str, object]:
    made = compressors[name]()
    v = torch.from_numpy(np.random.default_rng(0).standard_normal((1, SIZE))).float()
    payload = made.pack(v, message_draws([0], [0], 0, 0))
    delta, omega = made.delta(SIZE), made.omega(SIZE)
    return {
        f"bytes of {SIZE} numbers": f"{payload.numel() * payload.element_size()} instead of {4 * SIZE}",
        f"δ, for vectors of {SIZE} numbers": "" if delta is None else f"{delta:.4g} (contractive)",
        f"ω, for vectors of {SIZE} numbers": "" if omega is None else f"{omega:.4g} (unbiased)",
        "defined in": source_of(type(made)),
    }


def of_network(name: str) -> dict[str, object]:
    cls = networks[name]
    if not hasattr(cls, "network") or not hasattr(cls, "file"):
        return {}
    found = cls().network()
    latency, bandwidth = found.latency_s * 1000, found.bandwidth / 1e6
    apart = ~np.eye(len(latency), dtype=bool) if len(latency) > 1 else np.ones((1, 1), dtype=bool)
    return {
        "title": found.title,
        "source": found.source,
        "sites": ", ".join(found.sites) or "one link for all pairs of nodes",
        "latency": span(latency[apart], "ms"),
        "bandwidth": span(bandwidth[apart], "Mbit/s"),
        "messages of a round": "share the uplink" if found.uplink == "shared" else "have an uplink each",
        "time of a gradient": "measured"
        if found.compute.gradient_s is None
        else f"{found.compute.gradient_s * 1e3:g} ms",
        "defined in": f"[bench/clock/networks/{cls.file}.yaml](../../bench/clock/networks/{cls.file}.yaml)",
    }


def span(values: np.ndarray, unit: str) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:g} {unit}" if low == high else f"{low:g} to {high:g} {unit}"


def source_of(item: object) -> str:
    """Return a link to the file that defines a function or class."""
    try:
        file = Path(inspect.getsourcefile(inspect.unwrap(item)) or "")  # type: ignore[arg-type]
    except TypeError:
        return ""
    root = Path(__file__).resolve().parents[4]
    if not file.is_relative_to(root):
        return ""
    path = file.relative_to(root).as_posix()
    return f"[{path}](../../{path})"


KINDS = (
    Kind("dataset", "datasets", datasets, of_dataset, "[Data](../docs/data.md) has sizes, licenses and partitions."),
    Kind("model", "models", models, of_model, "[Your own model](../CONTRIBUTING.md#bring-your-own-model-and-file)."),
    Kind(
        "compressor", "compressors", compressors, of_compressor, "See [Compressors](../docs/networks.md#compressors)."
    ),
    Kind("network", "networks", networks, of_network, "[Time on a network](../docs/time.md) explains the model."),
)


def pages() -> Iterator[tuple[str, str]]:
    """Yield a table for each kind, and a page for each member."""
    for kind in KINDS:
        rows = [(f"[{name}]({kind.title}/{name}.md)", purpose(kind.group, name)) for name in kind.members]
        shown = catalog((kind.group, "meaning"), rows)
        yield f"catalog/{kind.title}.md", f"# All {kind.title}\n\n{kind.more}\n\n{shown}\n"
        for name in kind.members:
            yield f"catalog/{kind.title}/{name}.md", "\n\n".join(page(kind, name)) + "\n"


def page(kind: Kind, name: str) -> Iterator[str]:
    yield f"{ORPHAN}# {name}"
    yield f"[All {kind.title}](../{kind.title}.md) · `{kind.group}={name}`"
    if text := purpose(kind.group, name):
        yield f"{text[:1].upper()}{text[1:]}."
    if found := {key: value for key, value in kind.facts(name).items() if value}:
        yield facts(found)
    yield from options(kind.group, name)
