"""Compiled tables as files: what is saved is what is opened, and damage is an error or at worst a wrong answer."""

import random

import pyarrow as pa
import pytest
from support.damaged_files import flipped_bits
from support.forced_blocks import forced_blocks

from cbnet import Table
from cbnet.errors import TableFileError
from cbnet.matching.engines.registry import ENGINES
from cbnet.matching.row_matching import match_rows
from cbnet.matching.storage.table_file import MAGIC, open_table_file, write_table_file

PREDICATES = {
    "a": 'dest = "MXP" and price < 500 or #sale and #today',
    7: 'name ^= "ab" or name $= "yz" or name *= "mn" and x >= 2',
    "c": "x > 1 and x <= 9 or x != 4 and y = true or exists z or x = 9007199254740993",
    "d": "x < 3 or x < 5",
    "e": "true",
    "f": 'l.a in (1, "b", null) and l.b > 1 or k = null and x in (4, 9) or k != null and x < y',
    "g": 'not (name ^= "a") and #sale or absent x or lower(name) = "xmnx" and price + x > 5 or l.b < l.a',
}
MESSAGES = [
    {"dest": "MXP", "price": 400}, {"#": ["sale", "today"]}, {"name": "abyz", "x": 3}, {"name": "xmnx", "x": 2.5},
    {"x": 4, "y": True}, {"z": 0}, {"x": 9007199254740993}, {"x": 9007199254740992}, {},
    {"x": [4, 1], "k": None, "price": [1, 3]}, {"l": [{"a": 1, "b": 2}, {"a": "b", "b": [0, 3]}], "x": 1},
    {"l": {"a": None, "b": 7}, "k": 1, "x": 3, "y": 4}, {"name": ["XMNX", "b"], "price": 2, "x": 4, "#": ["sale"]},
    {"l": [{"a": 5}], "l.b": 2, "x": 1},
]  # fmt: skip


@pytest.fixture(params=[*ENGINES, "blocks"])
def path(tmp_path, request):
    path = tmp_path / "table.cbt"
    if request.param != "blocks":
        Table.build(PREDICATES, engine=request.param).save(path)
    else:
        with forced_blocks(1):
            Table.build(PREDICATES).save(path)
        assert len(open_table_file(path).arrays["block_lows"]) > 0
    return path


def test_an_opened_table_matches_like_the_saved_one(path):
    built = Table.build(PREDICATES)
    for verify in (False, True):
        opened = Table.open(path, verify=verify)
        assert list(opened) == list(PREDICATES)
        assert opened.match_many(MESSAGES) == built.match_many(MESSAGES)
        assert repr(opened) == repr(built)
        assert opened.explain({"x": 6}, "d").matched is False
        assert str(opened["a"]) != ""


def test_saving_replaces_a_file_atomically(path):
    size = Table.build({"only": "x = 1"}).save(path)
    assert path.stat().st_size == size
    assert Table.open(path).match({"x": 1}) == ["only"]
    assert list(path.parent.iterdir()) == [path]


def test_an_unwritable_table_is_an_error(tmp_path):
    with pytest.raises(TableFileError, match="cannot write"):
        Table.build({}).save(tmp_path / "none" / "table.cbt")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not a compiled table"),
        (b"[rules]\n" * 9, "not a compiled table"),
        (MAGIC + b"\4\0\0\0" + bytes(100), "version 4, but this cbnet reads version 3"),
        (MAGIC + b"\3\0\0\0" + b"\xff" * 100, "header is incomplete"),
    ],
)
def test_foreign_and_newer_files_are_refused(tmp_path, content, problem):
    path = tmp_path / "x.cbt"
    path.write_bytes(content)
    with pytest.raises(TableFileError, match=problem):
        Table.open(path)


def test_a_file_of_the_wrong_size_is_refused_without_reading_it(path):
    whole = path.read_bytes()
    for length in [*range(0, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(TableFileError):
            Table.open(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(TableFileError, match="bytes instead of"):
        Table.open(path)


def test_verify_detects_every_flipped_bit_and_none_crashes_without_it(path):
    for _ in flipped_bits(path, 3_000):
        with pytest.raises(TableFileError):
            Table.open(path, verify=True)
        _use_unverified(path)
        with pytest.raises(TableFileError):
            _read_back(path)


def _read_back(path):
    """Read filters out of a table: this verifies first."""
    table = Table.open(path)
    return [table[interface] for interface in table]


def test_sections_of_noise_cause_no_read_outside_the_file(path):
    """Overwrite whole sections with random bytes: the answers are wrong, and the process lives."""
    file = open_table_file(path)
    arrays, metadata = file.arrays, file.metadata
    source = random.Random(6)
    keys = ("engine", "names", "interfaces", "filters", "constraints", "covered")
    for _ in range(300):
        noisy = {name: array.copy() for name, array in arrays.items()}
        for name in source.sample(sorted(noisy), 3):
            data = noisy[name].view("u1") if noisy[name].nbytes else noisy[name]
            data[:] = list(source.randbytes(len(data))) if noisy[name].nbytes else []
        write_table_file(path, noisy, {key: metadata[key] for key in keys})
        _use_unverified(path)


def _use_unverified(path):
    try:
        table = Table.open(path)
        table.match_many(MESSAGES)
        # `match_frame` verifies the table first, to compare its rules with the columns.
        [*match_rows(table._compiled, [pa.RecordBatch.from_pylist([{"x": 4, "name": "abyz"}])])]
        for message in MESSAGES:
            table.match(message)
    except TableFileError as error:
        assert "damaged" in error.problem or "version" in error.problem or "not a compiled" in error.problem
