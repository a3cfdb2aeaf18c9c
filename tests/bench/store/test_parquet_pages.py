"""A small file whose pages expand to gigabytes is rejected before they are decompressed."""

import io
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.store import read_parquet
from bench.store.parquet_pages import SHAPE, _pages, directory, expanded
from bench.store.read_parquet import UNREADABLE, read_table
from bench.store.thrift import INT32, structure

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
    stored, found = parts(pq.read_metadata(io.BytesIO(content))), directory(content)
    said = sum(part.total_uncompressed_size for part in stored)
    assert 0.85 * said < expanded(content, found) < said
    read = [column for group in found.groups for column in group]
    assert [column.values for column in read] == [part.num_values for part in stored]
    assert [column.size for column in read] == [part.total_compressed_size for part in stored]
    assert found.counted == (5000, 20_000)
    assert read_table(content, texts=True).num_rows == 5000


@pytest.mark.parametrize("codec", ["none", "snappy"])
def test_codecs_that_expand_little_cost_no_time(codec):
    content = written(compression=codec)
    assert expanded(content, directory(content)) == 0


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
        (PAGE + b"\x05" + b"\x84\x80\x04" + b"\x08", "too large"),  # field 32770 as 16 bits
        (field(1, 5, 0) + field(1, 5, 1000) + field(1, 5, 20 + (1 << 32)), "too large"),
    ],
)
def test_a_size_is_read_as_arrow_reads_it(header, wrong):
    """The first of two equal fields, or the last, and the kind of a field, must not hide how large a page is."""
    if wrong is None:
        assert structure(header + b"\0", 0) == (
            {(n, INT32): k for n, k in enumerate((0, 1000, 20), 1)},
            len(header) + 1,
        )
        return
    with pytest.raises(ValueError, match=wrong):
        [*_pages(header + b"\0" + bytes(20), 0, len(header) + 21)]


def test_columns_that_share_their_pages_are_not_read():
    content = written({"a": np.zeros(10), "b": np.zeros(10)}, use_dictionary=False)
    found = directory(content)
    assert expanded(content, found) > 0
    with pytest.raises(ValueError, match="larger than the file"):
        expanded(content[: sum(column.size for group in found.groups for column in group) - 1], found)


def test_headers_that_make_no_sense_are_errors():
    """Every byte of the first header is changed to every other one."""
    content = written({"a": np.zeros(10)}, use_dictionary=False)
    found = directory(content)
    wrong = 0
    for place in range(4, 24):
        for value in range(256):
            forged = content[:place] + bytes([value]) + content[place + 1 :]
            try:
                assert expanded(forged, found) >= 0
            except ValueError:
                wrong += 1
    assert wrong > 100
    with pytest.raises(ValueError, match="ends after the file"):
        [*_pages(content[:20], 4, 100)]


def changed(content, before, after):
    """The directory with other bytes in the place of these."""
    size = int.from_bytes(content[-8:-4], "little")
    pages, end = content[: -8 - size], content[-8 - size : -8]
    assert end.count(before) == 1
    end = end.replace(before, after)
    return pages + end + len(end).to_bytes(4, "little") + b"PAR1"


# An entry for a column begins with its type, a list of encodings and a list of names.
SMALL = written({"abc": np.arange(10)}, compression="none", use_dictionary=False, write_statistics=False)
ENTRY = b"\x15\x04\x19\x25\x06\x00\x19\x18\x03abc\x15\x00"


@pytest.mark.parametrize(
    "after",
    [
        ENTRY[:-1] + b"\x60",  # the codec 48
        ENTRY.replace(b"\x19\x25\x06\x00", b"\x19\x23\x06\x00"),  # encodings of one byte each
        ENTRY.replace(b"\x18\x03abc", b"\x18\x7fabc"),  # a name that ends after the file
    ],
)
def test_invalid_entries_for_columns_do_not_end_the_process(after):
    with pytest.raises((*UNREADABLE, pa.ArrowException)):
        read_table(changed(SMALL, ENTRY, after))


@pytest.mark.parametrize(
    "after",
    [ENTRY.replace(b"\x15\x04", b"\x15\x62", 1), ENTRY.replace(b"\x25\x06\x00", b"\x25\x62\x64")],
)
def test_unknown_types_and_encodings_of_an_entry_do_not_end_the_process(after):
    assert read_table(changed(SMALL, ENTRY, after))["abc"].to_pylist() == list(range(10))


def test_changed_bytes_of_the_directory_do_not_end_the_process():
    """Every byte of it is changed to some others."""
    sizes = Counter()
    for place in range(len(SMALL) - 4 - int.from_bytes(SMALL[-8:-4], "little"), len(SMALL)):
        for value in (0, 1, 6, 8, 0x15, 0x1C, 0x7F, 0x80, 0xFF, SMALL[place] ^ 16, SMALL[place] ^ 1):
            try:
                sizes[read_table(SMALL[:place] + bytes([value]) + SMALL[place + 1 :]).num_rows] += 1
            except (*UNREADABLE, pa.ArrowException):
                sizes[None] += 1
    assert sizes[10] > 100
    assert sizes[None] > 1000


def test_an_encrypted_directory_is_not_read():
    size = int.from_bytes(SMALL[-8:-4], "little")
    end = SMALL[-8 - size : -9] + b"\x1c\x1c\x00\x00\x00"  # field 8: an algorithm without options
    fields, _ = structure(end, 0, SHAPE)
    assert max(number for number, _ in fields) == 8
    with pytest.raises(ValueError, match="encrypted"):
        read_table(SMALL[: -8 - size] + end + len(end).to_bytes(4, "little") + b"PAR1")


def test_a_directory_of_millions_of_columns_is_not_read():
    size = (1 << 23) + 1
    with pytest.raises(ValueError, match=r"8388609 .*8388608"):
        read_table(bytes(size) + size.to_bytes(4, "little") + b"PAR1")


def test_texts_that_an_entry_calls_numbers_are_counted():
    """Arrow takes the type from the schema."""
    content = written({"abc": ["a" * 9999] * 10}, compression="none", use_dictionary=False)
    entry = ENTRY.replace(b"\x15\x04", b"\x15\x0c", 1)
    forged = changed(content, entry, entry.replace(b"\x15\x0c", b"\x15\x04", 1))
    assert expanded(forged, directory(forged)) == expanded(content, directory(content)) > 99_990
