"""The rules in docstrings, which are Unicode text, as Markdown with mathematics in LaTeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

FUNCTIONS = {"min": r"\min", "max": r"\max", "exp": r"\exp"} | {
    name: rf"\operatorname{{{name}}}" for name in ("unit", "sign", "clip", "msgn", "prox", "FG")
}
GREEK = {
    letter: "\\" + (name.lower() if letter.islower() else name.capitalize())
    for letter in "αβγδζηθικλμνξπρστχψωΓΔΘΛΞΠΦΨΩ"
    if (name := unicodedata.name(letter).rpartition(" ")[2].replace("LAMDA", "LAMBDA"))
} | {"ε": r"\varepsilon", "ϱ": r"\varrho", "φ": r"\varphi", "Σ": r"\sum"}
SYMBOLS = {
    "−": "-", "-": "-", "+": "+", "=": "=", "/": "/", "(": "(", ")": ")", ",": ",", "|": "|", "‖": r"\|", "·": r"\cdot",
    "⟨": r"\langle", "⟩": r"\rangle", "⌈": r"\lceil", "⌉": r"\rceil", "←": r"\leftarrow", "≤": r"\le",
    "≥": r"\ge", "<": "<", ">": ">", "…": r"\ldots", "×": r"\times", "∇": r"\nabla", "ℒ": r"\mathcal{L}",
    "½": r"\tfrac{1}{2}",
}  # fmt: skip
ACCENTS = {"\u0303": r"\tilde", "\u0304": r"\bar", "\u0302": r"\hat", "\u0305": r"\bar"}
RAISED = {"⁺": "+", "⁻": "-", "ᵏ": "k", "ᵀ": r"\top", "½": "1/2", "'": r"\prime"}
RAISED |= {"⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]: str(digit) for digit in range(10)}
LOWERED = {"₋": "-", "ᵢ": "i", "ⱼ": "j"} | {"₀₁₂₃₄₅₆₇₈₉"[digit]: str(digit) for digit in range(10)}
NAMES = r"[a-z]{2,}=\"?[a-z]+\"?|\w+(?:/\w+)+\.py|[a-z]{2,}(?:_[a-z]{2,})+|[a-z]\d[a-z]"
CODE = re.compile(rf"``([^`]+)``|({NAMES})(?![\w(])")
WORD = re.compile(r"[A-Za-z]{2,}(?:[-–'’][A-Za-z]*)*|D-[A-Z]+\b(?:'s)?|[A-Za-z](?=-[A-Za-z]{2})|\ba(?= [a-z]{2,})")
OPENING, CLOSING = ("(", r"\langle", r"\lceil"), (")", r"\rangle", r"\rceil")
NUMBER = re.compile(r"(\d+(?:\.\d+)?)(?:e([-−]?\d+))?")


class UnknownSymbol(ValueError):
    """A character that the translator does not know."""


def statements(body: str) -> Iterator[str]:
    """Yield the statements of a rule as Markdown, one equation or sentence each.

    Raises:
        UnknownSymbol: The rule has a character without a translation.
    """
    for line in joined(body):
        yield from (markdown(part) for part in re.split(r"(?<=[,;])  +", line))


def joined(body: str) -> list[str]:
    """Return the lines of a rule; a sentence that continues on the next line is one line."""
    lines: list[str] = []
    for line in filter(None, map(str.strip, unicodedata.normalize("NFD", body).splitlines())):
        if lines and re.search(r"[a-z]{2,}$", lines[-1]) and re.match(r"[a-z]{2,}[ /](?!.{0,30}: )", line):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return lines


def markdown(text: str) -> str:
    """Return one statement with its formulas between dollar signs."""
    out, formula, place = "", "", 0
    text = unicodedata.normalize("NFD", text)
    while place < len(text):
        found = CODE.match(text, place) or WORD.match(text, place)
        if found and found[0] not in FUNCTIONS:
            code = found.re is CODE
            out, formula = out + closed(formula) + (f"`{found[1] or found[2]}`" if code else found[0]), ""
            place = found.end()
        elif text[place] == " ":
            out, formula, place = (out, formula + " ", place + 1) if formula else (out + " ", "", place + 1)
        elif depth(formula) <= 0 and text[place] in ".:;,)":
            out, formula, place = out + closed(formula) + text[place], "", place + 1
        elif text[place] == ";":
            formula, place = formula + ";", place + 1
        else:
            latex, place = atom(text, place)
            formula = glue(formula, latex)
    return out + closed(formula)


def depth(formula: str) -> int:
    """Return the number of brackets that are open."""
    return sum(formula.count(opening) for opening in OPENING) - sum(formula.count(closing) for closing in CLOSING)


def glue(before: str, after: str) -> str:
    """Join two pieces of LaTeX; a letter behind a command needs a space."""
    return before + " " * bool(re.search(r"\\[A-Za-z]+$", before) and after[:1].isalpha()) + after


def closed(formula: str) -> str:
    """Return a formula between dollar signs; a last bracket that only words follow is no part of it."""
    bare = formula.strip()
    space = formula[len(formula.rstrip()) :]
    if bare.endswith("(") and (rest := bare[:-1].rstrip()) != bare:
        return (f"${rest}$ " if rest else "") + "(" + space
    return f"${bare}${space}" if bare else formula


def atom(text: str, place: int) -> tuple[str, int]:
    """Return the LaTeX of the symbol at ``place`` with its accents and indices, and the place behind it."""
    if text[place] == "√":
        inside, place = (group if text[place + 1] == "(" else call)(text, place + 1)
        return rf"\sqrt{{{inside}}}", place
    if found := NUMBER.match(text, place):
        base = rf"10^{{{found[2]}}}" if found[1] == "1" and found[2] else found[0]
        return scripts(text, found.end(), base.replace("−", "-"))
    if (found := WORD.match(text, place)) and found[0] in FUNCTIONS:
        return scripts(text, found.end(), FUNCTIONS[found[0]])
    letter = text[place]
    base = letter if letter.isascii() and letter.isalpha() else GREEK.get(letter, SYMBOLS.get(letter, ""))
    if not base:
        raise UnknownSymbol(f"The symbol {letter!r} in {text!r} has no translation to LaTeX.")
    place += 1
    while place < len(text) and text[place] in ACCENTS:
        base = rf"{ACCENTS[text[place]]}{{{base}}}"
        place += 1
    return scripts(text, place, base)


def scripts(text: str, place: int, base: str) -> tuple[str, int]:
    """Append the indices and exponents at ``place`` to ``base``."""
    low, high = "", ""
    while place < len(text):
        letter = text[place]
        if letter in RAISED:
            high += RAISED[letter] + " " * (letter == "'")
            place += 1
        elif letter in LOWERED:
            low += LOWERED[letter]
            place += 1
        elif letter in "^_" and place + 1 < len(text):
            inside, place = index(text, place + 1)
            low, high = (low + inside, high) if letter == "_" else (low, high + inside)
        else:
            break
    return base + (f"_{{{low.strip()}}}" if low else "") + (f"^{{{high.strip()}}}" if high else ""), place


def index(text: str, place: int) -> tuple[str, int]:
    """Return what stands behind ``_`` or ``^``: a group in brackets or braces, letters, or one symbol."""
    if text[place] in "({":
        return group(text, place)
    if found := re.compile(r"[A-Za-z]{2,}").match(text, place):
        short = len(found[0]) == 2
        return found[0] if short else rf"\mathrm{{{found[0]}}}", found.end()
    letter = text[place]
    fraction = unicodedata.normalize("NFKD", letter).replace("\N{FRACTION SLASH}", "/")
    known = letter.isascii() and letter.isalnum()
    latex = letter if known else fraction if "/" in fraction else GREEK.get(letter, SYMBOLS.get(letter, ""))
    if not latex:
        raise UnknownSymbol(f"The index {letter!r} in {text!r} has no translation to LaTeX.")
    return latex, place + 1


def group(text: str, place: int) -> tuple[str, int]:
    """Return the inside of a group in brackets or braces, and the place behind it."""
    closing, depth, begin = {"(": ")", "{": "}"}[text[place]], 0, place
    while place < len(text):
        depth += {text[begin]: 1, closing: -1}.get(text[place], 0)
        place += 1
        if depth == 0:
            return sequence(text[begin + 1 : place - 1]), place
    raise UnknownSymbol(f"A bracket is not closed in {text!r}.")


def call(text: str, place: int) -> tuple[str, int]:
    """Return a symbol, and the arguments behind it if it is a function."""
    latex, place = atom(text, place)
    if latex.strip() in FUNCTIONS.values() and text[place : place + 1] == "(":
        inside, place = group(text, place)
        latex += f"({inside})"
    return latex, place


def sequence(text: str) -> str:
    """Return the LaTeX of a text without words."""
    out, place = "", 0
    while place < len(text):
        if text[place] in " ;":
            out, place = out + text[place], place + 1
        else:
            latex, place = atom(text, place)
            out = glue(out, latex)
    return out
