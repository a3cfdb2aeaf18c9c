"""Read files that are small unless a stranger made them."""

from __future__ import annotations

import errno
from pathlib import Path

LARGEST = 1_000_000
"""The usual limit in bytes. YAML is read slowly."""


def content_up_to(file: Path, most: int = LARGEST) -> bytes:
    """Return the content of a file; OSError if it has more bytes than ``most``. Other than in results, links may be."""
    with file.open("rb") as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most / 1e6:g} MB", str(file))
    return content
