"""The spike model: one steep direction."""

from __future__ import annotations

import numpy as np

from analysis.claims.evidence import Case, evidence
from analysis.claims.evidence.settings import label
from analysis.results.results import Results
from analysis.study.ask import PAPER
from analysis.study.reported import chosen_of, reported_all, runs_of
from analysis.study.select import as_written, has_no_variant, problems
from analysis.study.statistics import mean, paired, ratio


@evidence
def spike_ratio(results: Results) -> list[Case]:
    """Final test loss of D-NASA as a multiple of the best tuned method's, in both readings, paired by seed."""
    out = []
    finals = results.finals
    for key, runs in problems(results, finals[finals["dataset"] == "spike"]):
        found = reported_all(results, as_written(results, runs, PAPER)[0])
        best, chosen = runs_of(found), chosen_of(found)
        tuned, untuned = best[best["algo"].isin({*chosen} - {"dnasa"})], best[best["algo"] == "dnasa"]
        if tuned.empty or untuned.empty:
            continue
        winner = str(tuned.groupby("algo")["test_loss"].mean().idxmin())
        theirs = tuned[tuned["algo"] == winner].set_index("seed")["test_loss"]
        ours = untuned.set_index("seed")["test_loss"].where(untuned.set_index("seed")["state"] == "done")
        part = ratio(paired(np.log(ours), np.log(theirs)))
        out.append(
            Case(
                f"standard deviation {key['dataset.spike_sd']:g} (best: {label(winner)})",
                part,
                len(ours) + len(theirs),
            )
        )
    return out


@evidence
def part_of_rises(results: Results) -> list[Case]:
    """The part of D-NASA's evaluations on the spike model at which the test loss rose, over the second half."""
    finals = results.finals
    finals = finals[has_no_variant(finals)]
    out = []
    for key, runs in problems(results, finals[(finals["dataset"] == "spike") & (finals["algo"] == "dnasa")]):
        parts = []
        for _, rows in results.curves(runs).groupby("run_id"):
            later = rows[rows["step"] >= rows["step"].max() / 2]["test_loss"].to_numpy()
            parts.append(float((np.diff(later) > 0).mean()))
        out.append(Case(f"standard deviation {key['dataset.spike_sd']:g}", mean(np.array(parts)), len(parts)))
    return out
