"""The source of names that notebook cells register, as modules that other processes can import.

A module has the statement that registers the name, and the imports, functions, classes and values of other cells that
it uses. Other statements of the cells, such as a sweep, are not executed again.
"""

from __future__ import annotations

import ast
import linecache
import symtable
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Statement:
    """A statement at the top level of a cell; equal ones are the same."""

    text: str
    reads: frozenset[str]
    binds: frozenset[str]
    always: bool  # an import from __future__, or of unknown names


def statements(source: str) -> list[Statement]:
    """Return the statements of a cell; none if it is not Python."""
    try:
        tree, lines = ast.parse(source), source.splitlines()
    except SyntaxError:
        return []
    return [_statement("\n".join(lines[first_line(node) - 1 : node.end_lineno]), node) for node in tree.body]


def at_line(source: str, line: int) -> Statement | None:
    """Return the statement of a cell at this line."""
    for node, statement in zip(ast.parse(source).body, statements(source), strict=True):
        if first_line(node) <= line <= (node.end_lineno or line):
            return statement
    return None


def first_line(node: ast.stmt | ast.Lambda) -> int:
    """Return the first line of a statement or function, with its decorators."""
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])


def _statement(text: str, node: ast.stmt) -> Statement:
    top = symtable.symtable(text, "cell", "exec")
    reads, todo = set[str](), [top]
    while todo:
        scope = todo.pop()
        todo += scope.get_children()
        found = [symbol for symbol in scope.get_symbols() if symbol.is_referenced()]
        reads |= {symbol.get_name() for symbol in found if scope is top or symbol.is_global()}
    binds = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    unknown = isinstance(node, ast.ImportFrom) and (node.module == "__future__" or node.names[0].name == "*")
    return Statement(text, frozenset(reads), frozenset(binds), unknown)


def with_needed(root: Statement, history: Sequence[Statement]) -> list[Statement]:
    """Return a statement and those that it needs, in their order; the latest statement that binds a name counts."""
    binding = {name: statement for statement in [*history, root] for name in statement.binds}
    needed, todo = {root}, [root, *(statement for statement in history if statement.always)]
    while todo:
        statement = todo.pop()
        needed.add(statement)
        todo += [found for name in statement.reads if (found := binding.get(name)) and found not in needed]
    order = {statement: place for place, statement in enumerate([*history, root])}  # the last place of each
    return sorted(needed, key=lambda each: (not each.text.startswith("from __future__"), order[each]))


def history(main: Any) -> list[Statement]:
    """Return the statements of all cells that the notebook of ``__main__`` has executed, in their order."""
    shell = getattr(main, "get_ipython", None)
    if shell is None:
        return []
    cells: Iterable[str] = main.__dict__.get("In", ())
    return [statement for cell in cells for statement in statements(shell().transform_cell(cell))]


def source_of(file: str) -> str:
    """Return the source of a cell by the name of its code; empty if Python does not keep it."""
    return "".join(linecache.getlines(file))
