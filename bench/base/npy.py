"""Headers of the npy format, which numpy uses for npy and npz files, and a limit on the arrays of an npz file."""

from __future__ import annotations

from tokenize import TokenError
from typing import IO

import numpy as np
from numpy.lib import format as npy

ENTRY, ENTRIES = b"PK\x01\x02", 10_000
"""The first bytes of an entry in the directory of a zip archive, and the largest number of entries."""


def header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Return the shape and the type of an array without reading it.

    Raises:
        ValueError: The file does not begin with a header, or the header is invalid.
    """
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0  # 3.0 has the layout of 2.0
    try:
        shape, _, dtype = read(file)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, TokenError) as error:  # of Python's parser
        raise ValueError("the header of an array is invalid") from error
    if any(length < 0 for length in shape):
        raise ValueError(f"the header of an array has the shape {shape}")
    return (*shape, *dtype.shape), dtype.base
