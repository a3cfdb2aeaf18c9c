"""The evaluations of a run as a Parquet file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.store.record import Row

COUNTS = {"step", "samples", "rounds", "vectors_sent", "bytes"}
"""Metrics that are stored as integers."""


def parquet(rows: Sequence[Row]) -> bytes:
    """Return the rows as a Parquet file, with a column for each metric."""
    columns = [_column([row[name] for row in rows], np.int64 if name in COUNTS else np.float64) for name in rows[0]]
    sink = pa.BufferOutputStream()
    # without dictionaries and statistics, thousands of files are read a third faster
    plain = {"use_dictionary": False, "write_statistics": False, "store_schema": False}
    pq.write_table(pa.Table.from_arrays(columns, names=list(rows[0])), sink, write_page_checksum=True, **plain)
    return sink.getvalue().to_pybytes()


def _column(values: Sequence[float | None], dtype: type[np.number[Any]]) -> pa.Array:
    """Return the values as an Arrow array; None is a missing value. ``pa.array`` would import pandas."""
    valid = np.array([value is not None for value in values])
    numbers = np.array([0 if value is None else value for value in values], dtype=dtype)
    buffers = [pa.py_buffer(np.packbits(valid, bitorder="little")), pa.py_buffer(numbers)]
    return pa.Array.from_buffers(pa.from_numpy_dtype(dtype), len(values), buffers)
