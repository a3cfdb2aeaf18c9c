"""From a claim and its cases to a verdict: nothing here is a matter of opinion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from analysis.claims.evidence import Case, gather, known
from analysis.results.errors import NoData
from analysis.results.results import Results

HOLDS, ONLY, FAILS, UNTESTED = "holds", "holds only if", "does not hold", "not tested here"


@dataclass(frozen=True)
class Claim:
    """An entry of claims.yaml."""

    id: str
    claim: str
    source: str
    evidence: str
    unit: str
    holds: dict[str, float]
    because: str
    experiment: str | None = None
    also: tuple[str, ...] = ()
    command: str | None = None
    figure: str | None = None
    parameters: dict[str, Any] | None = None
    note: str | None = None
    expects: tuple[str, ...] = ()

    @property
    def bound(self) -> str:
        ((word, value),) = self.holds.items()
        return {"at_most": f"at most {value:g}", "at_least": f"at least {value:g}", "within": f"within ±{value:g}"}[
            word
        ]

    def keeps(self, value: float) -> bool:
        ((word, bound),) = self.holds.items()
        return {"at_most": value <= bound, "at_least": value >= bound, "within": abs(value) <= bound}[word]

    @property
    def commands(self) -> list[str]:
        """What makes the runs."""
        experiments = [name for name in (self.experiment, *self.also) if name]
        return [self.command] if self.command else [f"python bench/run.py experiment={name}" for name in experiments]


@dataclass(frozen=True)
class Verdict:
    claim: Claim
    word: str
    kept: list[Case]
    broken: list[Case]
    missing: list[str]

    @property
    def sentence(self) -> str:
        """The verdict, with its condition where it has one."""
        cases = [*self.kept, *self.broken]
        unsettled = sum(not self.settled(case) for case in cases)
        rest = f" ({unsettled} of {len(cases)} not settled)" if unsettled else ""
        rest += f"; not tested here: {', '.join(self.missing)}" if self.missing and self.word != UNTESTED else ""
        if self.word != ONLY:
            return self.word + rest
        few, word = (self.kept, ONLY) if len(self.kept) <= len(self.broken) else (self.broken, f"{ONLY} not")
        return f"{word} {'; '.join(case.name for case in few)}{rest}"

    def settled(self, case: Case) -> bool:
        """Whether the whole interval is on one side of the bound; without an interval only what is exact is."""
        low, high = case.found.low, case.found.high
        if not math.isfinite(low):
            return case.exact or not math.isfinite(case.found.value)
        ((word, bound),) = self.claim.holds.items()
        return not any(low < edge < high for edge in ((-bound, bound) if word == "within" else (bound,)))


def claims(file: Path | None = None) -> list[Claim]:
    """All of claims.yaml, or of a file of one's own, checked for what a writer of claims may get wrong."""
    path = file or Path(__file__).with_name("claims.yaml")
    try:
        out = [_claim(**entry) for entry in yaml.safe_load(path.read_text(encoding="utf-8"))]
    except (yaml.YAMLError, TypeError) as error:
        raise NoData(f"{path} is no list of claims: {' '.join(str(error).split())}") from error
    if unknown := [claim.evidence for claim in out if claim.evidence not in known()]:
        raise NoData(f"{path.name} names evidence that there is not: {', '.join(unknown)}")
    return out


BOUNDS = ("at_most", "at_least", "within")


def _claim(also: tuple[str, ...] = (), expects: tuple[str, ...] = (), **entry: Any) -> Claim:
    claim = Claim(also=tuple(also), expects=tuple(expects), parameters=entry.pop("with", {}), **entry)
    if not (isinstance(claim.holds, dict) and len(claim.holds) == 1 and set(claim.holds) <= set(BOUNDS)):
        raise NoData(f"'holds' of {claim.id} must be one of {', '.join(BOUNDS)} with a number; got {claim.holds!r}")
    return claim


def judge(claim: Claim, results: Results) -> Verdict:
    found = gather(claim.evidence, results, claim.parameters or {})
    cases = [case for case in found if case.runs]
    kept = [case for case in cases if claim.keeps(case.found.value)]
    broken = [case for case in cases if not claim.keeps(case.found.value)]  # NaN, a diverged run, keeps nothing
    missing = [case.name for case in found if not case.runs]
    missing += [word for word in claim.expects if not any(word in case.name for case in found)]
    word = UNTESTED if not cases else HOLDS if not broken else ONLY if kept else FAILS
    return Verdict(claim, word, kept, broken, missing)
