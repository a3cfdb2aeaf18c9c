"""Marks of methods that no ranking includes, in tables of results."""

from types import SimpleNamespace

from analysis.results.labels import marked

DECLARED = {
    "ours": {"provenance": "unstated", "published": False},
    "read": {"provenance": "paper", "published": True},
    "guessed": {"provenance": "reconstructed", "published": True},
    "plugin": {"provenance": "unstated"},
    "strange": {"provenance": ["paper"]},
    "old": {},
}


def test_marks_follow_the_names_and_have_notes():
    names, notes = marked({algo: algo for algo in DECLARED}, SimpleNamespace(declared=DECLARED))
    assert list(names.values()) == ["ours‡", "read", "guessed†", "plugin†", "strange†", "old"]
    assert [note[0] for note in notes] == ["†", "‡"]


def test_without_marks_there_are_no_notes():
    assert marked({"read": "Read", "gone": "Gone"}, SimpleNamespace(declared=DECLARED)) == (
        {"read": "Read", "gone": "Gone"},
        [],
    )
