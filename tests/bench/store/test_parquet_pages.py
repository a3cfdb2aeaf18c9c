"""A small file whose pages expand to gigabytes is rejected before they are decompressed."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.store import read_parquet
from bench.store.parquet_pages import _header, _of_chunk, expanded
from bench.store.read_parquet import read_table

NUMBERS = {"step": np.arange(5000), "loss": np.linspace(0, 1, 5000), "constant": np.zeros(5000)}


def written(columns=NUMBERS, **options):
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, **{"compression": "zstd", **options})
    return sink.getvalue()


def parts(metadata):
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return [group.column(number) for group in groups for number in range(group.num_columns)]


@pytest.mark.parametrize("codec", ["zstd", "gzip", "brotli", "lz4"])
@pytest.mark.parametrize(
    "options",
    [{}, {"use_dictionary": False}, {"data_page_version": "2.0"}, {"row_group_size": 700}, {"data_page_size": 512}],
)
def test_the_sizes_are_those_of_the_directory_less_the_headers(codec, options):
    content = written({**NUMBERS, "name": [f"run {k % 7}" for k in range(5000)]}, compression=codec, **options)
    metadata = pq.read_metadata(io.BytesIO(content))
    said = sum(part.total_uncompressed_size for part in parts(metadata))
    assert 0.85 * said < expanded(content, metadata) < said
    assert read_table(content, texts=True).num_rows == 5000


@pytest.mark.parametrize("codec", ["none", "snappy"])
def test_codecs_that_expand_little_cost_no_time(codec):
    content = written(compression=codec)
    assert expanded(content, pq.read_metadata(io.BytesIO(content))) == 0


def test_a_page_that_is_larger_than_its_values_is_not_read(monkeypatch):
    """The directory says that a page with 1000 values has one."""
    content = written({"a": np.zeros(1000)}, use_dictionary=False, write_statistics=False, store_schema=False)
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    count = b"\x16\xd0\x0f"  # Thrift: i64, 1000
    assert content[start:].count(count) == 3
    forged = content[:start] + content[start:].replace(count, b"\x16\x82\x00")  # 1, in as many bytes
    assert pq.read_metadata(io.BytesIO(forged)).num_rows == 1
    monkeypatch.setattr(read_parquet, "SPACE", 1000)
    with pytest.raises(ValueError, match=r"80\d\d .*1032"):
        read_table(forged)
    assert read_table(content).num_rows == 1000


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_texts_that_repeat_the_one_before_are_not_read(version, codec):
    columns = {"name": ["a" * 9999 + str(k) for k in range(100)]}
    content = written(
        columns, compression=codec, use_dictionary=False, column_encoding="DELTA_BYTE_ARRAY", data_page_version=version
    )
    with pytest.raises(ValueError, match="DELTA_BYTE_ARRAY"):
        read_table(content, texts=True)
    content = written(columns, compression=codec, use_dictionary=False, data_page_version=version)
    assert read_table(content, texts=True).num_rows == 100


def field(step, kind, value):
    """A field of a structure: its number is ``step`` more than that of the one before."""
    whole, out = value << 1, b""
    while whole > 127:
        out, whole = out + bytes([whole & 127 | 128]), whole >> 7
    return bytes([step << 4 | kind]) + out + bytes([whole])


PAGE = field(1, 5, 0) + field(1, 5, 1000) + field(1, 5, 20)


@pytest.mark.parametrize(
    ("header", "wrong"),
    [
        (PAGE, None),
        (field(1, 5, 0) + field(1, 6, 8) + field(1, 5, 20), "no size"),  # Arrow skips 64 bits
        (PAGE + field(0, 5, 2) + b"\x08", "in order"),  # field 2 again
        (PAGE + b"\x05" + b"\x84\x80\x08" + b"\x08", "in order"),  # field 65538
    ],
)
def test_a_size_is_read_as_arrow_reads_it(header, wrong):
    """The first of two equal fields, or the last, and the kind of a field, must not hide how large a page is."""
    if wrong is None:
        assert _header(header + b"\0", 0) == ({(1,): 0, (2,): 1000, (3,): 20}, len(header) + 1)
        return
    with pytest.raises(ValueError, match=wrong):
        _of_chunk(header + b"\0" + bytes(20), 0, len(header) + 21)


def test_columns_that_share_their_pages_are_not_read():
    content = written({"a": np.zeros(10), "b": np.zeros(10)}, use_dictionary=False)
    metadata = pq.read_metadata(io.BytesIO(content))
    assert expanded(content, metadata) > 0
    with pytest.raises(ValueError, match="larger than the file"):
        expanded(content[: sum(part.total_compressed_size for part in parts(metadata)) - 1], metadata)


def test_headers_that_make_no_sense_are_errors():
    """Every byte of the first header is changed to every other one."""
    content = written({"a": np.zeros(10)}, use_dictionary=False)
    metadata = pq.read_metadata(io.BytesIO(content))
    wrong = 0
    for place in range(4, 24):
        for value in range(256):
            forged = content[:place] + bytes([value]) + content[place + 1 :]
            try:
                assert expanded(forged, metadata) >= 0
            except ValueError:
                wrong += 1
    assert wrong > 100
    with pytest.raises(ValueError, match="ends after the file"):
        _of_chunk(content[:20], 4, 100)
