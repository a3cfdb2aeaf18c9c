"""Reader of parquet files."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from bench.base.errors import UserError
from bench.store.parquet_pages import directory, expanded
from datasets.own.content import sentence
from datasets.own.limits import refuse_content, refuse_table

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

INDEX = "index_columns"
"""The entry of pandas in the file that names the columns of a row index."""


def read_parquet(name: str, raw: bytes, drop: Collection[str]) -> pd.DataFrame:
    """Read a table. The columns ``drop`` are not read and have no values."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = directory(raw)
        refuse_table(name, found.counted[0], len(found.types))
        refuse_content(f"The decompressed columns of {name} have", expanded(raw, found))
        schema = pq.read_schema(pa.BufferReader(raw))
        used = {field.name: field.type for field in schema if field.name not in drop}
        for column, kind in used.items():
            if not _readable(kind):
                raise UserError(
                    f"Column {column!r} must have numbers or words; its type is {kind}. To skip the column, add "
                    f"'dataset.drop=[{column}]'."
                )
        texts = [column for column, kind in used.items() if _is_text(kind)]
        with pq.ParquetFile(pa.BufferReader(raw), read_dictionary=texts) as file:  # equal texts are not copied
            table = file.read([*used]).select([*used])
        for place, field in enumerate(table.schema):  # pandas rounds integers of a dictionary next to missing values
            if pa.types.is_dictionary(field.type) and field.name not in texts:
                table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
        plain = table.unify_dictionaries().replace_schema_metadata()  # an index is a column
        frame = plain.to_pandas(integer_object_nulls=True)  # integers are exact
        frame = frame.astype(dict.fromkeys(texts, object)).reindex(columns=schema.names)
        frame.attrs[INDEX] = _index_columns(schema)
        return frame
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UserError(f"Cannot read the parquet file {name}: {sentence(error)}") from error


def _readable(kind: pa.DataType) -> bool:
    """Whether values of this type have a fixed size of few bytes or are texts."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return _readable(kind.value_type)
    return types.is_primitive(kind) or types.is_decimal(kind) or types.is_null(kind) or _is_text(kind)


def _is_text(kind: pa.DataType) -> bool:
    from pyarrow import types

    value = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(value) or types.is_large_string(value)


def _index_columns(schema: pa.Schema) -> list[object]:
    """Return the columns that pandas has saved as a row index; other programs may write anything there."""
    try:
        found = schema.pandas_metadata[INDEX]
    except (ValueError, TypeError, KeyError):
        return []
    return found if isinstance(found, list) else []
