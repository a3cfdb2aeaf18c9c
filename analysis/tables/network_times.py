"""Table of the times until a target loss on physical networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.drawing.symbols import in_symbols
from analysis.results.labels import method_name, methods, name_of
from analysis.results.results import NETWORK_S, Results
from analysis.results.seconds import costs_of, has_networks, on_own_networks, without_time
from analysis.results.wording import listed
from analysis.study.clock_notes import clock_note
from analysis.study.figure_options import FigureOptions
from analysis.study.seeds import different_seeds
from analysis.study.select import NO_NETWORK, as_written, problems, refuse_unless
from analysis.study.settings import in_order
from analysis.study.statistics import FEWEST, Interval, mean
from analysis.study.targets import TARGET_RULE, hits, left_out, seconds_until, target_method, with_targets
from analysis.study.tuning import at_best, in_sample, one_rule, rule_in_words, setting_of
from analysis.study.variants import shown_values
from analysis.tables import Table, table
from analysis.tables.format import Number, interval, with_settings
from bench.clock import Network

OWN = "seconds (own network)"
"""The heading of the times on the network of each run."""
NOTE = f"means with Student's 95 % intervals over seeds, from {FEWEST} seeds on; no mean if a seed misses the target"


@table("network_times", "Time to a target loss on physical networks", uses=("network", "reference", "tune_by"))
def make(results: Results, request: FigureOptions) -> Table:
    own = not request.networks and has_networks(results)
    refuse_unless(bool(request.networks) or own, NO_NETWORK)
    notes_on_own = list[str]()
    if own and not results.network:
        results, notes_on_own = on_own_networks(results)
    data, shown, setters, values = [], [], set(), list[str]()
    alone = without = 0  # runs that are left out
    used = set[str]()
    untimed: dict[Network, dict[str, str]] = {network: {} for network in request.networks}
    for key, runs in in_order(problems(results, results.finals)):
        runs = as_written(results, runs, request)[0]
        best, chosen = at_best(results, runs, request)
        values += [*rule_in_words(results, runs, chosen, _place(key), request), *in_sample(chosen)]
        setter = target_method(results, best["algo"].unique(), request) if len(best) else ""
        targeted = with_targets(results, best, setter)
        if targeted["algo"].nunique() < 2:
            alone += len(best)
            continue
        without += len(best) - len(targeted)
        best = targeted
        used |= set(best["run_id"])
        found = hits(results, best, setter)
        costs, wrong = costs_of(results, found["run_id"])
        for network in request.networks:
            found[_heading(network)], more = seconds_until(found, costs, network)
            untimed[network] |= {**wrong, **more}
        if own:
            found[OWN] = _at_evaluation(results, found)
        setters.add(method_name(setter, results))
        values += shown_values(results, runs)
        for algo, name in methods(best["algo"].unique(), results).items():
            mine = found[found["algo"] == algo]
            missed = int(mine["evaluation"].isna().sum())
            step = np.nan if missed else mine["step"].mean()
            row = {**key, "algo": algo, **setting_of(chosen, algo), "target_by": setter, "step": step}
            cells: dict[str, Any] = {"method": name, "setting": in_symbols(setting_of(chosen, algo)) or "—"}
            cells["steps"] = f"{step:.4g}" if not missed else f"missed by {missed} of {len(mine)} seeds"
            for heading in [OWN] if own else map(_heading, request.networks):
                number, cells[heading] = _time(mine, heading)
                row |= {f"{heading}{end}": value for end, value in number.items()}
            data.append({**row, "missed": missed, "runs": len(mine)})
            shown.append((key, cells))
    sentences = [sentence for network, wrong in untimed.items() for sentence in without_time(wrong, network)]
    refuse_unless(bool(shown), "no problem has two methods with the same seed")
    notes = [TARGET_RULE.format(method=" or ".join(sorted(setters))), NOTE, *(_source(n) for n in request.networks)]
    notes += clock_note(results, NETWORK_S, results.finals) if own else []
    notes += [
        *left_out(alone, without),
        *one_rule(values),
        *different_seeds(results, used),
        *sentences,
        *notes_on_own,
    ]
    return Table(with_settings(shown), pd.DataFrame(data), notes)


def _at_evaluation(results: Results, found: pd.DataFrame) -> list[float]:
    """Return the seconds of every run on its own network until its target; NaN if it misses the target."""
    hits = zip(found["run_id"], found["evaluation"], strict=True)
    return [np.nan if np.isnan(k) else float(results.course(run, NETWORK_S)[1][int(k)]) for run, k in hits]


def _place(key: Mapping[str, Any]) -> str:
    return f"{name_of(key['dataset'])}, {key['topology']} graph: "


def _heading(network: Network) -> str:
    return f"seconds ({network.name})"


def _source(network: Network) -> str:
    sites = f", nodes in the order {listed(network.sites)}" if network.sites else ""
    return f"{network.name}: {network.title or 'network'}{f' ({network.source})' if network.source else ''}{sites}"


def _time(runs: pd.DataFrame, column: str) -> tuple[dict[str, float | None], str]:
    """Return the mean time with its interval, as numbers and as a cell; without a mean if a run has no time."""
    if runs[column].isna().any():
        return {"": None, "_low": None, "_high": None}, "—"
    values = runs[column]
    same = values.nunique() == 1 and len(values) >= FEWEST  # the interval would consist of rounding errors
    found = Interval(values.iloc[0], values.iloc[0], values.iloc[0], len(values)) if same else mean(values)
    cell = Number(interval(found), found, more_is_better=False, values=runs.set_index("seed")[column])
    return {"": found.value, "_low": found.low, "_high": found.high}, cell
