"""Docstrings become Markdown."""

from hearsay_site.docstrings import docstring

TEXT = """Register ``f`` under a name, as f_i.

It has *two* lines,
and more.

Args:
    name: The name, ``topology=NAME``.
    weights: The rule;
        None for none.

Raises:
    UserError: The name is taken.

Example:
    >>> f("x")
    1
"""


def test_sections_become_lists_and_code():
    assert list(docstring(TEXT)) == [
        r"Register `f` under a name, as f\_i.",
        r"It has \*two\* lines, and more.",
        "**Args**",
        "- `name`: The name, `topology=NAME`.\n- `weights`: The rule; None for none.",
        "**Raises**",
        "- `UserError`: The name is taken.",
        "**Example**",
        ':::{container} wrapped\n```pycon\n>>> f("x")\n1\n```\n:::',
    ]
