"""Modules made of notebook cells: the statement that registers a name, and what it needs from other cells."""

import pytest

from bench.base import registry as registries
from bench.base.errors import UserError
from bench.base.registry import Registry
from hearsay.cells import at_line, statements, with_needed
from hearsay.plugins import _groups

CELLS = [
    "from __future__ import annotations\nimport torch\nimport os",
    "gain = 2\nunused = sweep()",
    "def double(x):\n    return gain * x",
    "gain = 3\nprint('not again')",
    "class State:\n    x = 1",
]
METHOD = """\
@algorithm(
    'mine'
)
class Mine:
    def step(self, unused):
        return State(), double(torch.zeros(1)), unused"""


def history(cells):
    return [statement for cell in cells for statement in statements(cell)]


def test_a_module_has_what_the_statement_needs_in_order():
    (root,) = statements(METHOD)
    needed = [each.text for each in with_needed(root, history(CELLS))]
    assert needed == [
        "from __future__ import annotations",
        "import torch",
        "def double(x):\n    return gain * x",
        "gain = 3",
        "class State:\n    x = 1",
        METHOD,
    ]


def test_an_older_definition_of_the_same_class_is_not_needed():
    old, new = METHOD.replace("double", "State"), METHOD
    (root,) = statements(new)
    found = with_needed(root, history([*CELLS, old, new]))
    assert [each.text for each in found if "class Mine" in each.text] == [new]


@pytest.mark.parametrize("line", [2, 3, 5, 7])
def test_a_line_belongs_to_the_statement_with_its_decorators(line):
    found = at_line(f"x = 1\n{METHOD}\ny = 2", line)
    assert found is not None
    assert found.text == METHOD
    assert found.binds == {"Mine"}


def test_a_cell_that_is_not_python_has_no_statements():
    assert statements("!pip install x") == []


def test_statements_that_register_names_are_in_one_module_only():
    base, one, two, other = statements("class A: a = 1\nclass B(A): b = 1\nclass C(A): c = 1\nclass D: d = 1")
    past = [base, one, two, other]
    groups = _groups({root: with_needed(root, past) for root in past})
    assert sorted(map(len, groups)) == [1, 3]
    assert _groups({root: with_needed(root, past) for root in (one, two)}) == [[base, one], [base, two]]


def register(registry, name, module):
    exec(compile(f"registry.add({name!r}, object())", "cell-1", "exec"), {"__name__": module, "registry": registry})


def test_a_cell_may_register_a_name_again_and_others_may_not(monkeypatch):
    monkeypatch.setattr(registries, "_registries", [])
    registry: Registry[object] = Registry("kind")
    register(registry, "mine", "__main__")
    register(registry, "mine", "__main__")
    assert registry.cells == {"mine": ("cell-1", 1)}
    register(registry, "theirs", "elsewhere")
    for module in ("__main__", "elsewhere"):
        with pytest.raises(UserError, match="theirs"):
            register(registry, "theirs", module)
