"""Verdicts on claims, computed from their cases."""

from __future__ import annotations

import math
import operator
import reprlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from analysis.claims.evidence import Case, gather, known
from analysis.claims.fields import checked
from analysis.results.errors import NoData, perhaps, trouble
from analysis.results.results import Results
from bench.base.small_file import content_up_to
from bench.base.unique_yaml import load_unique

HOLDS, ONLY, FAILS, UNSETTLED = "holds", "holds in part", "does not hold", "not settled"
UNTESTED, UNTESTABLE, TROUBLE = "not tested here", "not testable", "no verdict"
WORDS = (HOLDS, ONLY, FAILS, UNSETTLED, UNTESTABLE, UNTESTED, TROUBLE)

Kind = Literal["paper", "bound", "identity", "beyond"]
KINDS: dict[Kind, str] = {
    "paper": "Statements of the paper on its methods and experiments",
    "bound": "Upper bounds of its theory, which runs can refute but not confirm",
    "identity": "Identities, theorems and definitions: true for all data, and checked on these runs",
    "beyond": "Beyond the paper: assumptions of its comparisons",
}
BOUNDS = {
    "at_most": operator.le,
    "at_least": operator.ge,
    "within": lambda value, bound: abs(value) <= bound,
    "below": operator.lt,
    "above": operator.gt,
}
"""Conditions on the number of a claim."""


@dataclass(frozen=True)
class Claim:
    """An entry of a file of claims."""

    id: str
    claim: str
    source: str
    unit: str = ""
    holds: dict[str, float] = field(default_factory=dict)
    because: str = ""
    evidence: str = ""
    kind: Kind = "paper"
    experiment: str | None = None
    also: tuple[str, ...] = ()
    command: str | None = None
    figure: str | None = None
    parameters: dict[str, Any] | None = None
    beside: dict[str, Any] | None = None  # parameters of further cases, which are shown but not judged
    choices: str | None = None  # choices that the paper leaves open
    note: str | None = None
    expects: tuple[str, ...] = ()
    untestable: str | None = None  # why no run can test it

    @property
    def bound(self) -> str:
        ((word, value),) = self.holds.items()
        return f"within ±{value:g}" if word == "within" else f"{word.replace('_', ' ')} {value:g}"

    def keeps(self, value: float) -> bool:
        ((word, bound),) = self.holds.items()
        return bool(BOUNDS[word](value, bound))

    @property
    def commands(self) -> list[str]:
        """The commands that make the runs."""
        experiments = [name for name in (self.experiment, *self.also) if name]
        return [self.command] if self.command else [f"python bench/run.py experiment={name}" for name in experiments]


@dataclass(frozen=True)
class Verdict:
    claim: Claim
    kept: list[Case]
    broken: list[Case]
    open: list[Case]  # cases whose interval contains the bound
    missing: list[str]
    beside: list[Case] = field(default_factory=list)  # shown but not judged
    trouble: str = ""  # the error of its statistic

    @property
    def word(self) -> str:
        if self.trouble:
            return TROUBLE
        if self.claim.untestable:
            return UNTESTABLE
        if not self.cases:
            return UNTESTED
        if len(self.open) > len(self.kept) + len(self.broken):
            return UNSETTLED
        return HOLDS if not self.broken else ONLY if self.kept else FAILS

    def said(self, case: Case) -> str:
        """Return whether a case satisfies the bound: yes, no or not settled."""
        keeps = "yes" if self.claim.keeps(case.found.value) else "no"
        return keeps if settled(self.claim, case) else "not settled"

    @property
    def cases(self) -> list[Case]:
        return [*self.kept, *self.broken, *self.open]

    @property
    def sentence(self) -> str:
        """The verdict with the numbers of cases."""
        if self.trouble:
            return f"{self.word}: its evidence failed, {self.trouble}"
        against = sum(not self.claim.keeps(case.found.value) for case in self.open)
        leaning = f", {against} of them leaning against it" if against and self.word in (HOLDS, UNSETTLED) else ""
        of_all = "" if self.word == ONLY else f" of {len(self.cases)} cases"
        rest = f" ({len(self.open)}{of_all} not settled{leaning})" if self.open else ""
        if self.word == UNSETTLED:
            counts = ((len(self.kept), "keep"), (len(self.broken), "break"))
            others = [f"{count} {verb}{'s' * (count == 1)} the bound" for count, verb in counts if count]
            parts = ", ".join([f"{len(self.open)} of {len(self.cases)} cases{leaning}", *others])
            rest = f" ({parts})" if others or leaning else ""
        rest += f"; not tested here: {', '.join(self.missing)}" if self.missing and self.word != UNTESTED else ""
        part = f": {len(self.kept)} of {len(self.cases)} cases" if self.word == ONLY else ""
        return self.word + part + rest


def settled(claim: Claim, case: Case) -> bool:
    """Return whether the whole interval is on one side of the bound; without an interval, whether the case is exact."""
    low, high = case.found.low, case.found.high
    if not math.isfinite(low):
        return case.exact or not math.isfinite(case.found.value)
    if case.partial and not claim.keeps(case.found.value):
        return False
    ((word, bound),) = claim.holds.items()
    return not any(low < edge < high for edge in ((-bound, bound) if word == "within" else (bound,)))


LARGEST = 1e300
"""A bound is smaller."""


def claims(path: Path) -> list[Claim]:
    """Return the claims of a YAML file; raise ``NoData`` if an entry is invalid."""
    try:
        content = load_unique(content_up_to(path).decode())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise NoData(f"{path} is not a YAML file: {error}") from error
    out = [_claim(**entry) for entry in checked(content, path.name)]
    if unknown := [claim.evidence for claim in out if not claim.untestable and claim.evidence not in known()]:
        names = ", ".join(f"{name}{perhaps(name, known())}" for name in unknown)
        raise NoData(f"{path.name} names unknown evidence: {names}")
    return out


def _claim(also: tuple[str, ...] = (), expects: tuple[str, ...] = (), **entry: Any) -> Claim:
    if lacks := [name for name in ("id", "claim", "source") if name not in entry]:
        raise NoData(f"the claim {entry.get('id', entry)} lacks {' and '.join(lacks)}")
    claim = Claim(also=tuple(also), expects=tuple(expects), parameters=entry.pop("with", {}), **entry)
    if claim.kind not in KINDS:
        raise NoData(f"'kind' of {claim.id} must be one of {', '.join(KINDS)}; got {claim.kind!r}")
    if claim.untestable:
        return claim
    if lacks := [name for name in ("unit", "evidence", "holds") if name not in entry]:
        raise NoData(f"the claim {claim.id} lacks {' and '.join(lacks)}")
    sound = isinstance(claim.holds, dict) and len(claim.holds) == 1 and set(claim.holds) <= set(BOUNDS)
    if not (sound and all(type(bound) in (int, float) and abs(bound) < LARGEST for bound in claim.holds.values())):
        got = reprlib.repr(claim.holds)
        raise NoData(f"'holds' of {claim.id} must be one of {', '.join(BOUNDS)} with a number; got {got}")
    return claim


def judge(claim: Claim, results: Results) -> Verdict:
    try:
        found = [] if claim.untestable else gather(claim.evidence, results, claim.parameters or {})
        beside = gather(claim.evidence, results, claim.beside) if claim.beside else []
    except Exception as error:  # the statistic of a plug-in may raise anything
        return Verdict(claim, [], [], [], [], trouble=trouble(error, known()[claim.evidence]))
    tested = [case for case in found if case.runs]
    clear = [case for case in tested if settled(claim, case)]
    kept = [case for case in clear if claim.keeps(case.found.value)]  # NaN, from a diverged run, satisfies no bound
    broken = [case for case in clear if not claim.keeps(case.found.value)]
    unsettled = [case for case in tested if not settled(claim, case)]
    missing = [case.name for case in found if not case.runs]
    missing += [word for word in claim.expects if not any(word in case.name for case in found)]
    return Verdict(claim, kept, broken, unsettled, missing, [case for case in beside if case.runs])
