"""Time to a target loss against latency, bandwidth and the order of sites."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from analysis.drawing.bands import over_seeds
from analysis.drawing.lines import BAND_FROM, shaded
from analysis.drawing.panels import Picture, legend, legend_entry, letter_panel, panels
from analysis.drawing.style import Style, styles
from analysis.figures import figure
from analysis.figures.stepsize import COMMAND
from analysis.results.errors import NoData
from analysis.results.labels import name_of
from analysis.results.results import Results
from analysis.results.seconds import costs_of, without_time
from analysis.study.figure_options import FigureOptions
from analysis.study.placement import best_and_worst
from analysis.study.select import NO_NETWORK, as_written, problems, refuse_unless, what_else
from analysis.study.settings import Key, apart
from analysis.study.targets import TARGET_RULE, hits, seconds_until, target_method
from analysis.study.tuning import Chosen, at_best, columns_of, rule_in_words
from bench.clock import Network

LATENCIES_MS = np.logspace(-2, 3, 11)
BANDWIDTHS_MBPS = np.logspace(-1, 4, 11)
STRIP = 0.03
"""Height of the strip that shows the fastest method, relative to the panel."""


class Compared(NamedTuple):
    """The methods of one problem at their best settings, and when their runs reach the target."""

    key: Key
    runs: pd.DataFrame
    chosen: Chosen
    setter: str
    hits: pd.DataFrame

    @property
    def reaching(self) -> list[str]:
        """The methods of which every seed reaches the target."""
        missed = self.hits["evaluation"].isna().groupby(self.hits["algo"]).any()
        return list(missed.index[~missed])


@figure(
    "network",
    "Time to a target loss, by latency, bandwidth and order of the sites",
    COMMAND,
    uses=("network", "reference", "tune_by"),
)
def draw(results: Results, request: FigureOptions) -> Picture:
    refuse_unless(bool(request.networks), NO_NETWORK)
    refuse_unless(len(request.networks) == 1, f"it needs one network, got {len(request.networks)}")
    (network,) = request.networks
    one = _most_compared(results, request, network)
    look = styles(one.reaching, results)
    found = one.hits[one.hits["algo"].isin(look)]
    costs, wrong = costs_of(results, found["run_id"])
    middle = _middle(network)
    orders = best_and_worst(next(iter(costs.values())), network) if costs else None
    axes_of: list[tuple[str, Sequence[Any], list[Network]]] = [
        ("latency (ms)", LATENCIES_MS, [middle.changed(latency_ms=float(each)) for each in LATENCIES_MS]),
        ("bandwidth (Mbit/s)", BANDWIDTHS_MBPS, [middle.changed(bandwidth_mbps=float(b)) for b in BANDWIDTHS_MBPS]),
    ]
    if orders:
        axes_of.append(("order of the sites", ("best", "as in\nthe file", "worst"), [orders[0], network, orders[1]]))
    figure, axes = panels(1, len(axes_of), 2.1, look=look, sharey=True)
    drawn = []
    for ax, (label, values, networks) in zip(axes[0], axes_of, strict=True):
        tables = []
        for number, (value, each) in enumerate(zip(values, networks, strict=True)):
            times, more = seconds_until(found, costs, each)
            wrong |= more
            place = value if label != axes_of[-1][0] or not orders else number
            tables.append(found.assign(seconds=times, x=place, value=str(value).replace("\n", " ")))
        refuse_unless(bool(pd.concat(tables)["seconds"].notna().any()), " ".join(without_time(wrong, network))[:-1])
        drawn.append(_panel(ax, pd.concat(tables), look).assign(x_axis=label))
        ax.set(xlabel=label, yscale="log")
        if isinstance(values[0], str):
            ax.set_xticks(range(len(values)), values)
            ax.set_xlim(-0.5, len(values) - 0.5)
        else:
            ax.set_xscale("log")
    axes[0, 0].set_ylabel("seconds to the target")
    letter_panel(axes[0, 0], f"links of {_number(middle.bandwidth[0, 0] / 1e6)} Mbit/s")
    letter_panel(axes[0, 1], f"links of {_number(middle.latency_s[0, 0] * 1000)} ms")
    if orders:
        letter_panel(axes[0, 2], network.title or network.name)
    legend(figure, [legend_entry(style) for style in look.values()])
    notes = [*_notes(results, one, network, orders, request), *without_time(wrong, network)]
    data = pd.concat(drawn, ignore_index=True)
    values = {algo: columns_of(one.chosen, algo) for algo in look}
    data = data.assign(**{c: [values[algo].get(c) for algo in data["algo"]] for c in ("eta",)})
    return Picture(figure, data, set(found["run_id"]), notes)


def _panel(ax: Axes, times: pd.DataFrame, look: dict[str, Style]) -> pd.DataFrame:
    """Draw the mean times of every method, and a strip with the color of the fastest. Return the plotted numbers."""
    drawn = []
    for algo, style in look.items():
        mine = times[times["algo"] == algo]
        table = over_seeds(mine.groupby("x"), "seconds").reset_index()
        if (table["runs"] >= BAND_FROM).all():
            shaded(ax, table["x"], table, style)
        line: dict[str, Any] = {"color": style.color, "ls": style.dash, "lw": style.width, "ms": style.size}
        ax.plot(table["x"], table["mean"], marker=style.marker, markeredgewidth=0, **line)
        drawn.append(table.assign(algo=algo))
    data = pd.concat(drawn, ignore_index=True)
    fastest = data.loc[data.groupby("x")["mean"].idxmin()].sort_values("x")
    x = fastest["x"].to_numpy(float)
    log = len(x) > 3
    places = np.log(x) if log else x
    edges = np.concatenate([[places[0] - (places[1] - places[0]) / 2], (places[1:] + places[:-1]) / 2])
    edges = np.append(edges, 2 * places[-1] - edges[-1])
    for left, right, algo in zip(edges[:-1], edges[1:], fastest["algo"], strict=True):
        ends = np.exp([left, right]) if log else (left, right)
        ax.axvspan(*ends, ymin=0, ymax=STRIP, color=look[algo].color, lw=0, zorder=3)
    if log:
        ax.set_xlim(*np.exp([edges[0], edges[-1]]))
    return data


def _most_compared(results: Results, request: FigureOptions, network: Network) -> Compared:
    """Return the problem on which most methods reach the target.

    Ties go to problems with a site for every node, to rings, to the fewest unusual settings, to targets that are
    reached after most evaluations, and to most runs.
    """
    found: list[tuple[tuple[float, ...], Compared]] = []
    settings = list(problems(results, results.finals))
    among = apart(settings)
    for key, runs in settings:
        if runs["algo"].nunique() < 2 or (network.sites and key["nodes"] > len(network.sites) and not network.deal):
            continue
        best, chosen = at_best(results, as_written(results, runs, request)[0], request)
        if best["algo"].nunique() < 2:
            continue
        setter = target_method(results, best["algo"].unique(), request)
        one = Compared(key, best, chosen, setter, hits(results, best, setter))
        fits, ring = not network.sites or key["nodes"] <= len(network.sites), key["topology"] == "ring"
        usual, late = -len(among.telling(key)), one.hits["evaluation"].min()
        rank = len(one.reaching), fits, ring, usual, float(late), len(best)
        found += [(rank, one)] if len(one.reaching) >= 2 else []
    if not found:
        raise NoData("no problem has two methods of which every seed reaches the target")
    return max(found, key=lambda item: item[0])[1]


def _middle(network: Network) -> Network:
    """Return the network with the median latency and bandwidth of its links on every link."""
    links = ~np.eye(len(network.latency_s), dtype=bool) if network.sites else np.ones_like(network.latency_s, bool)
    latency = float(np.median(network.latency_s[links])) * 1000
    return network.changed(latency, float(np.median(network.bandwidth[links])) / 1e6)


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _notes(
    results: Results, one: Compared, network: Network, orders: tuple[Network, Network] | None, request: FigureOptions
) -> list[str]:
    look = styles(one.runs["algo"].unique(), results)
    setting = ", ".join([name_of(one.key["dataset"]), f"{one.key['topology']} graph"])
    out = [
        f"{setting}, n = {one.key['nodes']}, T = {one.key['steps']}",
        *what_else(results, one.runs),
        TARGET_RULE.format(method=look[one.setter].label),
        "the strip at the bottom of a panel has the color of the method with the least mean time",
        f"compute times and losses are those of the network {network.name}; where they are not on the axis, latency "
        "and bandwidth are the medians of its links",
    ]
    if missed := [style.label for algo, style in look.items() if algo not in one.reaching]:
        out.append(f"not drawn, since a seed misses the target: {', '.join(missed)}")
    if orders:
        words = [f"{kind} order: {_order(each)}" for kind, each in zip(("best", "worst"), orders, strict=True)]
        out.append(f"orders are ranked by their slowest link, then by the mean of their links; {'; '.join(words)}")
    else:
        out.append(
            "the order of the sites is not varied: that needs a fixed graph and at most eight sites, one per node"
        )
    return [*out, *rule_in_words(results, one.runs, one.chosen, request=request)]


def _order(network: Network) -> str:
    return ", ".join(network.sites[site] for site in network.order)
