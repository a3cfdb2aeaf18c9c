"""Control and invisible characters of labels are escaped, and other texts stay as they are."""

import sys
import unicodedata

import pytest

from bench.terminal.visible import in_line, visible

ARABIC_AND_SYRIAC_SIGNS = [*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD]
"""Format characters that are visible."""
INVISIBLE = [0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x3164, 0xFE00, 0xFE0F, 0xFFA0, 0xE0100, 0xE01EF]
"""Letters and marks that are invisible, although Python calls them printable."""


def test_escapes_all_invisible_format_characters():
    every = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ("Cf", "Cc", "Zl", "Zp")]
    assert len(every) > 200
    kept = [code for code in (*every, *INVISIBLE) if visible(chr(code)) == chr(code)]
    assert kept == [0x09, 0x0A, *ARABIC_AND_SYRIAC_SIGNS]
    assert visible("d\u200bsgd \U000e0100") == r"d\u200bsgd \U000e0100"


@pytest.mark.parametrize(
    "text",
    [
        "D-SGD, \u03b7 = 0.1",
        "\u2016\u2207f(x\u0304)\u2016\u00b2",
        "e\u0301",
        "\u05d0\u05d1",
        "\u0645\u062d\u0645\u062f",
        "\u65e5\u672c",
        "a\u00a0b",
        "\u2717",
    ],
)
def test_keeps_letters_marks_and_symbols(text):
    assert visible(text) == in_line(text) == text
