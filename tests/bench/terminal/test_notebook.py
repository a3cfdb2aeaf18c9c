"""Progress below the cell of a notebook, without a notebook."""

import io
import sys
import types

import pytest

from bench.terminal.console import Console
from bench.terminal.display import Display
from bench.terminal.notebook import in_notebook


class Handle:
    """A display of IPython, with all pages that it showed."""

    def __init__(self, page):
        self.pages = [page.data]

    def update(self, page):
        self.pages.append(page.data)


@pytest.fixture
def shown(monkeypatch):
    """The displays of a process that takes itself for the kernel of a notebook."""
    found = []
    display = pytest.importorskip("IPython.display")
    monkeypatch.setattr(display, "display", lambda page, display_id: found.append(Handle(page)) or found[-1])
    module = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel=1), display=display)
    monkeypatch.setitem(sys.modules, "IPython", module)
    return found


def test_a_notebook_has_a_bar_that_goes_away(shown, monkeypatch):
    monkeypatch.setattr("bench.terminal.notebook.EVERY_S", 0.01)
    assert in_notebook()
    text = io.StringIO()
    run = object()
    with Display(Console(file=text), [10, 10]) as display:
        display.begin([run], "mine", 10, 0)
        display.end("mine-1", "done", "done at step 10", 10)
        (handle,) = shown
        while not any("1 done" in page for page in list(handle.pages)):
            pass
    assert handle.pages[-1] == ""
    assert "<pre" in handle.pages[0]
    assert text.getvalue() == "[1/2] mine-1: done at step 10\n"


def test_streams_of_a_notebook_are_no_terminals(shown):
    class Stream(io.StringIO):
        def isatty(self):
            return True

    assert not Console(file=Stream()).is_terminal
    with Display(Console(file=Stream(), quiet=True), [10]):
        assert shown == []


def test_a_terminal_is_no_notebook():
    assert not in_notebook()
