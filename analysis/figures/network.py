"""Time to a target loss against latency, bandwidth and the order of sites."""

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
from analysis.study.placement import MOST_ORDERS, best_and_worst
from analysis.study.select import DRAWN_FOR, NO_NETWORK, as_written, problems, refuse_unless, what_else
from analysis.study.settings import Key, apart
from analysis.study.targets import TARGET_RULE, hits, left_out, seconds_until, target_method, with_targets
from analysis.study.tuning import Chosen, at_best, columns_of, rule_in_words
from analysis.study.variants import shown_values
from bench.clock import Network

LATENCIES_MS = [float(ms) for ms in np.logspace(-2, 3, 11)]
BANDWIDTHS_MBPS = [float(mbps) for mbps in np.logspace(-1, 4, 11)]
STRIP = 0.03
"""Height of the strip that shows the fastest method, relative to the panel."""


class Compared(NamedTuple):
    """The methods of one problem at their best settings, and when their runs reach the target."""

    key: Key
    runs: pd.DataFrame
    chosen: Chosen
    setter: str
    hits: pd.DataFrame
    without: int  # runs that have no target

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
    refuse_unless(bool(costs), " ".join(without_time(wrong, network)).removesuffix("."))
    orders = best_and_worst(next(iter(costs.values())), network)
    axes_of = _axes(network, orders, one.key)
    figure, axes = panels(1, len(axes_of), 2.1, look=look, sharey=True)
    drawn = []
    for ax, axis in zip(axes[0], axes_of, strict=True):
        tables = []
        for x, each in zip(axis.values, axis.networks, strict=True):
            times, more = seconds_until(found, costs, each)
            wrong |= more
            tables.append(found.assign(seconds=times, x=x))
        refuse_unless(bool(pd.concat(tables)["seconds"].notna().any()), " ".join(without_time(wrong, network))[:-1])
        drawn.append(_panel(ax, pd.concat(tables), look, axis).assign(x_axis=axis.label))
        letter_panel(ax, axis.title)
    axes[0, 0].set_ylabel("seconds to the target")
    legend(figure, [legend_entry(style) for style in look.values()])
    notes = [*_notes(results, one, network, request), *_orders(orders, drawn[-1]), *without_time(wrong, network)]
    data = pd.concat(drawn, ignore_index=True)
    eta = {algo: columns_of(one.chosen, algo)["eta"] for algo in look}
    return Picture(figure, data.assign(eta=data["algo"].map(eta)), set(found["run_id"]), notes)


class Axis(NamedTuple):
    """The x-axis of a panel: its values, and the network at each."""

    label: str
    title: str
    values: list[float]
    networks: list[Network]
    names: tuple[str, ...] = ()  # of the values, if they are no numbers


def _axes(network: Network, orders: tuple[Network, Network] | None, key: Key) -> list[Axis]:
    links = ~np.eye(len(network.latency_s), dtype=bool) if network.sites else np.ones_like(network.latency_s, bool)
    latency = float(np.median(network.latency_s[links])) * 1000
    rate = float(np.median(network.bandwidth[links])) / 1e6
    slower = [network.changed(ms, rate) for ms in LATENCIES_MS]
    wider = [network.changed(latency, mbps) for mbps in BANDWIDTHS_MBPS]
    out = [
        Axis("latency (ms)", f"all links {rate:.4g} Mbit/s", LATENCIES_MS, slower),
        Axis("bandwidth (Mbit/s)", f"all links {latency:.4g} ms", BANDWIDTHS_MBPS, wider),
    ]
    if orders:
        title = f"{network.title or network.name}, {key['topology']} graph"
        out.append(
            Axis("order of the sites", title, [0, 1, 2], [orders[0], network, orders[1]], ("best", "given", "worst"))
        )
    return out


def _panel(ax: Axes, times: pd.DataFrame, look: dict[str, Style], axis: Axis) -> pd.DataFrame:
    """Draw the mean times of every method, and a strip with the color of the fastest. Return the plotted numbers."""
    drawn = []
    for algo, style in look.items():
        table = over_seeds(times[times["algo"] == algo].groupby("x"), "seconds").reset_index()
        if (table["runs"] >= BAND_FROM).all():
            shaded(ax, table["x"], table, style)
        line: dict[str, Any] = {"color": style.color, "ls": style.dash, "lw": style.width, "ms": style.size}
        ax.plot(table["x"], table["mean"], marker=style.marker, markeredgewidth=0, **line)
        drawn.append(table.assign(algo=algo))
    data = pd.concat(drawn, ignore_index=True)
    fastest = data.loc[data.dropna(subset="mean").groupby("x")["mean"].idxmin()].set_index("x")["algo"]
    places = np.array(axis.values) if axis.names else np.log(axis.values)
    half = (places[1] - places[0]) / 2
    for x, place in zip(axis.values, places, strict=True):
        ends = place + np.array([-half, half])
        left, right = ends if axis.names else np.exp(ends)
        ax.axvspan(left, right, ymin=0, ymax=STRIP, color=look[fastest[x]].color, lw=0, zorder=3)
    ends = places[[0, -1]] + np.array([-half, half])
    ax.set(xlabel=axis.label, xscale="linear" if axis.names else "log", yscale="log")
    ax.set_xlim(*(ends if axis.names else np.exp(ends)))
    if axis.names:
        ax.set_xticks(axis.values, axis.names)
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
        setter = target_method(results, best["algo"].unique(), request) if len(best) else ""
        targeted = with_targets(results, best, setter)
        if targeted["algo"].nunique() < 2:
            continue
        without = len(best) - len(targeted)
        one = Compared(key, targeted, chosen, setter, hits(results, targeted, setter), without)
        fits, ring = not network.sites or key["nodes"] <= len(network.sites), key["topology"] == "ring"
        usual, late = -len(among.telling(key)), one.hits["evaluation"].min()
        rank = len(one.reaching), fits, ring, usual, float(late), len(targeted)
        found += [(rank, one)] if len(one.reaching) >= 2 else []
    if not found:
        raise NoData("no problem has two methods of which every seed reaches the target")
    return max(found, key=lambda item: item[0])[1]


def _notes(results: Results, one: Compared, network: Network, request: FigureOptions) -> list[str]:
    look, key = styles(one.runs["algo"].unique(), results), one.key
    out = [
        f"{DRAWN_FOR} {name_of(key['dataset'])}, {key['topology']} graph, n = {key['nodes']}, T = {key['steps']}",
        *what_else(results, one.runs),
        *shown_values(results, one.runs),
        TARGET_RULE.format(method=look[one.setter].label),
        "the strip at the bottom of a panel has the color of the method with the least mean time",
        f"compute times and losses are those of the network {network.name}; a latency or bandwidth that is not on the "
        "axis is the median of its links",
    ]
    if missed := [style.label for algo, style in look.items() if algo not in one.reaching]:
        out.append(f"not drawn, since a seed misses the target: {', '.join(missed)}")
    return [*out, *left_out(0, one.without), *rule_in_words(results, one.runs, one.chosen, request=request)]


def _orders(orders: tuple[Network, Network] | None, drawn: pd.DataFrame) -> list[str]:
    """Return notes on the best and the worst order; ``drawn`` are the times on both."""
    if orders is None:
        return [f"the order of the sites is not varied: that needs a fixed graph and at most {MOST_ORDERS} orders"]
    means = drawn.pivot(index="algo", columns="x", values="mean")
    factor = means[2] / means[0]
    words = [
        f"{kind} order: {', '.join(network.sites[site] for site in network.order)}"
        for kind, network in zip(("best", "worst"), orders, strict=True)
    ]
    return [
        "orders are ranked by their slowest link, then by the mean of their links; the given order is that of the "
        f"network file; {'; '.join(words)}",
        f"on the worst order, methods take up to {factor.max():.2g} times as long as on the best",
    ]
