"""BibTeX entries of the papers that the methods declare."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from analysis.results.results import Results
from analysis.tables.latex import tex

CITED = re.compile(r"(?P<authors>\S.*?) (?P<year>(?:19|20)\d\d)(?:, (?P<title>.+))?")
WITHIN = re.compile(r"(?:, (Algorithm \d+)| \(([^()]+)\))$")
"""A part of a paper, which is not part of its title."""
NUMBERS = {"eprint": re.compile(r",? *\barXiv: ?([\w./-]*\d)"), "doi": re.compile(r",? *\bdoi: ?(10\.[\w.:/()<>+-]+)")}
HEAD = "% The methods of these results, as their declarations cite them."
"""The first line of a file of references."""
SMALL = {"a", "an", "the", "on", "in", "of"}


@dataclass(frozen=True)
class Bibliography:
    """BibTeX entries, and the citations of each method."""

    entries: dict[str, str] = field(default_factory=dict)  # fields, by key
    citations: dict[str, str] = field(default_factory=dict)  # citations for a caption, by method

    def text(self) -> str:
        return "\n\n".join([HEAD, *(f"@misc{{{key},\n{body}\n}}" for key, body in sorted(self.entries.items()))]) + "\n"


def bibliography(results: Results) -> Bibliography:
    """Return the papers that the methods of these runs declare."""
    return bibliography_of({algo: str(declared.get("cite") or "") for algo, declared in results.declared.items()})


def bibliography_of(cites: Mapping[str, str]) -> Bibliography:
    """Return the papers of these citations, which are given by method."""
    found = Bibliography()
    for algo, cite in sorted(cites.items()):
        if cite:
            papers = cite.split("; ")
            papers = papers if all(map(CITED.fullmatch, papers)) else [cite]
            found.citations[algo] = "".join(_cite(found, algo, paper) for paper in papers).replace(r"}\cite{", ",")
    return found


def _cite(found: Bibliography, algo: str, cite: str) -> str:
    """Add a paper, and return the command that cites it."""
    fields: dict[str, str] = {}
    for name, pattern in NUMBERS.items():
        if match := pattern.search(cite):
            fields[name] = match[1]
            cite = cite.replace(match[0], "")
    known = CITED.fullmatch(cite)
    if known is None:
        key, where, fields["note"] = _word(algo) or "method", "", tex(cite)
    else:
        title = known["title"] or ""
        part = WITHIN.search(title)
        where = (part[1] or part[2]) if part else ""
        title = title[: part.start()] if part else title
        authors = known["authors"].removesuffix(" et al.").split(", ")
        others = ["others"] if known["authors"].endswith(" et al.") else []
        first = next((word for word in title.split() if _word(word) not in {*SMALL, ""}), "")
        key = f"{_word(authors[0])}{known['year']}{_word(first)}"
        names = [f"{{{tex(name)}}}" if " " in name else tex(name) for name in authors]
        fields = {"author": " and ".join([*names, *others]), "year": known["year"]} | fields
        fields |= {"title": f"{{{tex(title)}}}"} if title else {}
    fields |= {"archiveprefix": "arXiv"} if "eprint" in fields else {}
    body = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    while found.entries.setdefault(key, body) != body:  # another paper of the same year
        key += "x"
    return rf"\cite[{tex(where)}]{{{key}}}" if where else rf"\cite{{{key}}}"


def _word(text: str) -> str:
    """Return the letters and digits of a word, without accents."""
    return re.sub(r"[^a-z0-9]", "", unicodedata.normalize("NFKD", text).lower().partition("-")[0])
