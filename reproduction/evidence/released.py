"""The released code against the paper."""

from __future__ import annotations

from analysis.claims.evidence import Case, case, evidence
from analysis.results.results import Results
from reproduction.evidence.settings import label
from reproduction.study.families import variants


@evidence
def accuracy_as_released(results: Results) -> list[Case]:
    """Test accuracy with a change of the released code minus as written, paired by seed."""
    finals = variants(results)
    out = []
    for (algo, split, change), some in finals.groupby(["algo", "split", "change"]):
        if change == "as written":
            continue
        written = finals[(finals["algo"] == algo) & (finals["split"] == split) & (finals["change"] == "as written")]
        keys = ["seed", "eta"] if "eta" in finals and some["eta"].notna().any() else ["seed"]
        both = some.merge(written, on=keys, suffixes=("", "_written"))
        if len(both):
            gap = both["test_accuracy"] - both["test_accuracy_written"]
            out.append(case(f"{label(algo)}, {change}, {split}", gap, 2 * len(both)))
    return out
