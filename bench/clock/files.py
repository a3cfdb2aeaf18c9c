"""Network files: bench/clock/networks/NAME.yaml, or a user's .yaml or .csv file. Every mistake is a ``UserError``.

A .yaml file has the same link between all nodes (``links`` with ``latency_ms`` and ``bandwidth_mbps``), or ``sites``
with a link for every pair (``pairs``). A .csv file has the columns from, to, latency_ms and bandwidth_mbps.
"""

from __future__ import annotations

import csv
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import yaml

from bench.base.errors import UserError, closest, shortened
from bench.base.small_file import LARGEST, content_up_to
from bench.base.unique_yaml import load_unique
from bench.clock.compute import OPTIONS, Compute, compute_of
from bench.clock.network import Deal, Network, Uplink

FOLDER = Path(__file__).with_name("networks")
COLUMNS = ("from", "to", "latency_ms", "bandwidth_mbps")
TOP = ("title", "source", "links", "sites", "deal", "within", "pairs", "compute")
LINKS = ("latency_ms", "bandwidth_mbps", "uplink", "loss", "timeout_ms", "tcp_window_mb")
WITHIN = ("latency_ms", "bandwidth_mbps")
UNITS = "Latencies are in milliseconds (latency_ms), bandwidths in Mbit/s (bandwidth_mbps)."
MEASURED, MOST_SITES, TABLE = "measured", 4096, 200_000_000  # links of so many sites: 0.3 GB; bytes of a .csv file
RANGES = {"latency_ms": (0.0, 60_000.0), "bandwidth_mbps": (0.001, 10_000_000.0)}  # else it may be another unit


def network_names() -> list[str]:
    """Return the names of the network files that come with the suite."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_network(name: str | Path) -> Network:
    """Return the network of a file of bench/clock/networks by its name, or of a .yaml or .csv file by its path.

    Raises:
        UserError: There is no such file, or its content is invalid.
    """
    path = Path(name)
    if path.suffix not in (".yaml", ".yml", ".csv"):
        path = FOLDER / f"{name}.yaml"
        if not path.is_file():
            near = closest(name, network_names())
            raise UserError(f"There is no network '{name}'.{near} For your own, give its path: my.yaml or my.csv.")
    try:
        return _network(path, _content(path))
    except UserError as error:  # it may quote a long name or value
        raise UserError(shortened(str(error), "left out")) from error
    except (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError, csv.Error) as error:
        why = f"{type(error).__name__}: {reprlib.repr(str(error))}"
        raise UserError(f"{path.name} is not a valid network file: {why}.") from error


def _content(path: Path) -> Mapping[str, Any]:
    if path.suffix == ".csv":
        rows = _csv(_text(path), path.name)
        sites = list(dict.fromkeys(site for row in rows for site in row[:2]))
        if all(site.isdecimal() for site in sites):
            sites.sort(key=int)
        return {"sites": sites, "pairs": rows}
    try:
        content = load_unique(_text(path))
    except yaml.YAMLError as error:
        raise UserError(f"{path.name} is not valid YAML: {error}.") from error
    if not isinstance(content, dict):
        raise UserError(f"{path.name} must have the sections of a network: {', '.join(TOP)}.")
    if isinstance(content.get("pairs"), str):
        table = path.parent / (name := content["pairs"])
        if name != table.name:
            raise UserError(f"{path.name}: 'pairs' must be the name of a file in the same folder, got {name!r}.")
        return {**content, "pairs": _csv(_text(table, f"{path.name}: "), table.name)}
    return content


def _text(path: Path, of: str = "") -> str:
    if not path.is_file():
        raise UserError(f"{of}The network file {path} does not exist or is not a regular file.")
    try:
        return content_up_to(path, TABLE if path.suffix == ".csv" else LARGEST).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{of}Cannot read the network file {path}: {getattr(error, 'strerror', error)}.") from error


def _network(path: Path, content: Mapping[str, Any]) -> Network:
    file = path.name
    _known(content, TOP, file, "")
    links = _section(content, "links", LINKS, file)
    compute = _compute(_section(content, "compute", tuple(OPTIONS), file), file)
    timeout, window = links.get("timeout_ms"), links.get("tcp_window_mb")
    loss = _number(links.get("loss", 0), "links.loss", file)
    if not 0 <= loss < 1:
        raise UserError(f"{file}: links.loss is a probability, at least 0 and less than 1; got {loss:g}.")
    if loss and timeout is None:
        raise UserError(f"{file}: links.loss needs links.timeout_ms, the time after which a message is sent again.")
    latency, bandwidth = _matrices(content, links, file)
    sites = tuple(map(str, content.get("sites") or ()))
    return Network(
        name=path.stem,
        latency_s=latency / 1000,
        bandwidth=bandwidth * 1e6,
        sites=sites,
        deal=_choice(content.get("deal"), get_args(Deal), "deal", file),
        uplink=_choice(links.get("uplink", "shared"), get_args(Uplink), "links.uplink", file) or "shared",
        loss=loss,
        timeout_s=None if timeout is None else _number(timeout, "links.timeout_ms", file) / 1000,
        window_bits=None if window is None else _number(window, "links.tcp_window_mb", file, above=True) * 8e6,
        compute=compute,
        title=str(content.get("title") or path.stem),
        source=str(content.get("source") or ""),
    )


def _compute(values: Mapping[str, Any], file: str) -> Compute:
    numbers = {
        key: value
        if (key, value) == ("gradient_ms", MEASURED)
        else _number(value, f"compute.{key}", file, above=key == "slow_factor")
        for key, value in values.items()
        if value is not None
    }
    if ("slow_node" in numbers) != ("slow_factor" in numbers):
        raise UserError(f"{file}: a slow node needs both compute.slow_node and compute.slow_factor.")
    if (node := numbers.get("slow_node", 0)) % 1:
        raise UserError(f"{file}: compute.slow_node must be the number of a node, got {node:g}.")
    return compute_of({**numbers, **({"slow_node": int(node)} if "slow_node" in numbers else {})}, MEASURED)


def _matrices(content: Mapping[str, Any], links: Mapping[str, Any], file: str) -> tuple[np.ndarray, np.ndarray]:
    """Return latencies in milliseconds and bandwidths in Mbit/s, (S, S), or (1, 1) without sites."""
    if not content.get("sites"):
        if "pairs" in content:
            raise UserError(f"{file} has 'pairs' but no 'sites'. Add the list of sites, in the order of the nodes.")
        return tuple(np.array([[_link(links, key, "links", file)]]) for key in WITHIN)  # type: ignore[return-value]
    if extra := [key for key in WITHIN if key in links]:
        raise UserError(f"{file} has sites, so that links.{extra[0]} has no effect. Use 'pairs' and 'within'.")
    sites = content["sites"]
    names = isinstance(sites, list) and all(isinstance(site, str | int | float) for site in sites)
    if not names or len({*map(str, sites)}) < len(sites):
        raise UserError(f"{file}: sites must be a list of different names, got {reprlib.repr(sites)}.")
    if len(sites) > MOST_SITES:
        raise UserError(f"{file} has {len(sites)} sites; the limit is {MOST_SITES}.")
    place = {str(site): number for number, site in enumerate(sites)}
    out = np.full((2, len(sites), len(sites)), np.nan)
    if content.get("within") is not None:
        within = _section(content, "within", WITHIN, file)
        for each, key in zip(out, WITHIN, strict=True):
            np.fill_diagonal(each, _link(within, key, "within", file))
    elif content.get("deal"):
        raise UserError(f"{file}: with 'deal', nodes share sites. Add 'within' with latency_ms and bandwidth_mbps.")
    _fill(out, content.get("pairs") or [], place, file)
    return out[0], out[1]


def _fill(out: np.ndarray, pairs: Sequence[Sequence[Any]], place: Mapping[str, int], file: str) -> None:
    """Write the links of the pairs into (2, S, S). If no pair has both directions, each pair counts for both."""
    seen: set[tuple[int, int]] = set()
    for number, row in enumerate(pairs, 1):
        if not isinstance(row, list | tuple) or len(row) != len(COLUMNS):
            raise UserError(f"{file}, pair {number}: expected {', '.join(COLUMNS)}; got {row!r}.")
        for site in map(str, row[:2]):
            if site not in place:
                raise UserError(f"{file}, pair {number}: '{site}' is not one of the sites.{closest(site, place)}")
        i, j = place[str(row[0])], place[str(row[1])]
        if (i, j) in seen:
            raise UserError(f"{file}, pair {number}: {row[0]} → {row[1]} is a duplicate.")
        if i == j and not np.isnan(out[0, i, i]):
            raise UserError(f"{file}, pair {number}: the link within {row[0]} is already given by 'within'.")
        seen.add((i, j))
        values = dict(zip(WITHIN, row[2:], strict=True))
        out[:, i, j] = [_link(values, key, f"pair {number}", file) for key in WITHIN]
    if not any((j, i) in seen for i, j in seen if i != j):
        for i, j in seen:
            out[:, j, i] = out[:, i, j]
    names = list(place)
    if missing := [f"{names[i]} → {names[j]}" for i, j in np.argwhere(np.isnan(out[0])) if i != j]:
        few = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
        raise UserError(
            f"{file} has no link for {few}. Every pair needs a row: once for both directions, or all pairs in both "
            "directions."
        )


def _csv(text: str, file: str) -> list[list[str]]:
    """Return the rows of a table with the columns from, to, latency_ms and bandwidth_mbps, in any order."""
    lines = text.lstrip("\ufeff").splitlines(keepends=True)
    table = csv.reader(line for line in lines if line.strip() and not line.lstrip().startswith("#"))
    head = [cell.strip() for cell in next(table, [])]
    if sorted(head) != sorted(COLUMNS):
        raise UserError(f"{file} must have the columns {', '.join(COLUMNS)} and no others. {UNITS}")
    order, rows, known = [head.index(column) for column in COLUMNS], [], dict[str, str]()
    for number, row in enumerate(table, 1):
        if len(row) != len(head):
            raise UserError(f"{file}, row {number} has {len(row)} values instead of {len(head)}.")
        rows.append([known.setdefault(cell, cell) for cell in (row[place].strip() for place in order)])
    if not rows:
        raise UserError(f"{file} has no rows; expected one for every pair of sites.")
    return rows


def _section(content: Mapping[str, Any], name: str, keys: Iterable[str], file: str) -> Mapping[str, Any]:
    if (section := content.get(name)) is None:
        return {}
    if not isinstance(section, dict):
        raise UserError(f"{file}: '{name}' must be a section with the keys {', '.join(keys)}; got {section!r}.")
    _known(section, keys, file, f"{name}.")
    return section


def _known(section: Mapping[Any, Any], keys: Iterable[str], file: str, prefix: str) -> None:
    keys = list(keys)
    for key in section:
        if key not in keys:
            units = f" {UNITS}" if any(word in str(key) for word in ("latency", "bandwidth", "delay", "rate")) else ""
            raise UserError(f"{file} has an unknown key '{prefix}{key}'.{units}{closest(key, keys)}")


def _link(values: Mapping[str, Any], key: str, where: str, file: str) -> float:
    """Return a latency or bandwidth in its range."""
    if values.get(key) is None:
        raise UserError(f"{file}: {where} has no {key}. {UNITS}")
    value = _number(values[key], f"{where}.{key}", file)
    low, high = RANGES[key]
    if not low <= value <= high:
        raise UserError(f"{file}: {where}.{key} must lie between {low:g} and {high:g}, got {value:g}. {UNITS}")
    return value


def _number(value: Any, key: str, file: str, above: bool = False) -> float:
    """Return a number that is finite and not negative; with ``above``, positive."""
    try:
        number = float(value) if not isinstance(value, bool) else np.nan
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise UserError(f"{file}: {key} must be a number without a unit, got {value!r}. {UNITS}")
    if number < 0 or (above and number == 0):
        raise UserError(f"{file}: {key} must {'be positive' if above else 'not be negative'}, got {number:g}.")
    return number


def _choice(value: Any, allowed: Sequence[str], key: str, file: str) -> Any:
    if value is not None and value not in allowed:
        raise UserError(f"{file}: {key} must be {' or '.join(allowed)}, got {value!r}.")
    return value
