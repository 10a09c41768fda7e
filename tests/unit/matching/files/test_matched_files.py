"""`Table.match_files`: the files, patterns, types and errors of `cbnet match`."""

import bz2
import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cbnet import InputError, Table

TABLE = Table.build({"old": 'fw = "1.2"', "hot": "temp > 40", 3: "true"})
LINES = b'{"fw": "1.2", "temp": 50}\n\nnonsense\n{"temp": "err", "o": {"x": [1]}}\n'


def rows(matches):
    return [(match.number, match.rules, match.error and match.error.problem[:19]) for match in matches]


def test_lines_of_compressed_files_have_their_rules_or_their_error(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(LINES))
    (tmp_path / "b.jsonl.bz2").write_bytes(bz2.compress(b'{"temp": 41}'))
    found = [*TABLE.match_files(tmp_path / "*.jsonl.*")]
    assert [match.file.rpartition("/")[2] for match in found] == ["a.jsonl.gz"] * 3 + ["b.jsonl.bz2"]
    assert rows(found) == [
        (1, ["old", "hot", 3], None), (3, (), "expected a JSON obj"), (4, [3], None), (1, ["hot", 3], None),
    ]  # fmt: skip
    assert found[1].error.location == f"{tmp_path}/a.jsonl.gz:3:1"
    assert [match.message for match in found] == [
        {"fw": "1.2", "temp": 50}, {}, {"temp": "err", "o": {"x": [1]}}, {"temp": 41},
    ]  # fmt: skip


def test_columns_of_csv_have_the_types_that_are_stated(tmp_path):
    (tmp_path / "a.csv").write_text("fw,temp\n1.2,50\n1.2,cold\n2.0,\n")
    found = [*TABLE.match_files([str(tmp_path / "a.csv")], types={"fw": "string", "temp": "int"}, threads=2)]
    assert rows(found) == [(1, ["old", "hot", 3], None), (3, [3], None), (2, (), "row 2, column 'temp")]
    assert [match.message for match in found] == [{"fw": "1.2", "temp": 50}, {"fw": "2.0"}, {}]


def test_rows_of_parquet_that_are_not_messages_have_their_error(tmp_path):
    pq.write_table(pa.table({"temp": [41.0, float("nan"), None]}), tmp_path / "a.parquet")
    found = TABLE.match_files(tmp_path / "a.parquet")
    assert rows(found) == [(1, ["hot", 3], None), (2, (), "row 2, column 'temp"), (3, [3], None)]


def test_files_that_cannot_be_matched_are_refused(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        next(TABLE.match_files(tmp_path / "none.jsonl"))
    with pytest.raises(InputError, match="unknown type 'text'"):
        next(TABLE.match_files(tmp_path / "a.csv", types={"x": "text"}))
    (tmp_path / "a.csv").write_text("temp\n1\n")
    with pytest.raises(InputError, match="no column 'fw'"):
        next(TABLE.match_files(tmp_path / "a.csv", strict=True))
