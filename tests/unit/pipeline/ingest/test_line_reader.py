from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from cbnet.pipeline.ingest.fields import ParsedLines
from cbnet.pipeline.ingest.line_reader import (
    NOT_UTF8,
    WRONG_HEADER,
    Block,
    LineCounts,
    LineReader,
    LineRun,
    line_runs,
    read_lines,
)


def parse(lines):
    """Take lines that begin with a letter, twice those that begin with a capital."""
    rows, numbers, rejected = [], [], {}
    for number, line in enumerate(lines.to_pylist()):
        if not line[0].isalpha():
            rejected[number] = "no letter"
        else:
            rows += [line] * (1 + line[0].isupper())
            numbers += [number] * (1 + line[0].isupper())
    batch = pa.RecordBatch.from_arrays([pa.array(rows, pa.string())], ["line"])
    return ParsedLines(batch, np.array(numbers, dtype=np.int64), rejected)


def batch(*rows):
    lines, files, starts = zip(*rows, strict=True) if rows else ([], [], [])
    raw = pa.array([line.encode() if isinstance(line, str) else line for line in lines], pa.binary())
    text = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())  # unchecked, as Spark gives it
    return pa.RecordBatch.from_arrays(
        [text, pa.array(files, pa.string()), pa.array(starts, pa.int64())], ["value", "file", "start"]
    )


def read(reader, *lines, start=0, first=0):
    block = Block("f", start)
    found, counts = reader.read(LineRun(block, first, batch(*((line, "f", start) for line in lines)).column(0)))
    return found.rows.column(0).to_pylist(), found.lines.tolist(), found.rejected, counts


def test_rows_and_reasons_have_the_numbers_of_their_lines():
    rows, lines, rejected, counts = read(LineReader(parse), "a", "", "7", "B", " ", "c")
    assert (rows, lines, rejected) == (["a", "B", "B", "c"], [0, 3, 3, 5], {2: "no letter"})
    assert counts == LineCounts(4, 4, Counter({"no letter": 1}))


def test_later_run_continues_the_line_numbers():
    assert read(LineReader(parse), "a", "7", first=100)[1:3] == ([100], {101: "no letter"})


def test_header_is_only_the_first_line_of_a_file():
    reader = LineReader(parse, header="h")
    assert read(reader, "h", "a", "h")[0] == ["a", "h"]
    assert read(reader, "h", "a", start=7)[0] == ["h", "a"]
    assert read(reader, "h", "a", first=1)[0] == ["h", "a"]
    assert read(reader, "h", "a")[3] == LineCounts(1, 1, Counter())


def test_different_header_is_rejected():
    rows, _, rejected, counts = read(LineReader(parse, header="h"), "other", "a")
    assert (rows, rejected, counts) == (["a"], {0: WRONG_HEADER}, LineCounts(2, 1, Counter({WRONG_HEADER: 1})))


def test_comments_are_skipped_if_the_source_has_them():
    assert read(LineReader(parse, comment="#"), "#x", "a", "a#")[0] == ["a", "a#"]
    assert read(LineReader(parse), "#x")[2] == {0: "no letter"}


def test_carriage_returns_and_byte_order_marks_are_stripped():
    assert read(LineReader(parse, header="h"), "\ufeffh\r", "a\r", "\r", "b")[0] == ["a", "b"]
    assert read(LineReader(parse), "\ufeffa")[0] == ["a"]
    assert read(LineReader(parse), "a", "\ufeffb")[2] == {1: "no letter"}


def test_lines_that_are_not_utf8_are_rejected_and_others_read():
    rows, lines, rejected, counts = read(LineReader(parse), "a", b"\xffx", "ö", b"\xed\xa0\x80")
    assert (rows, lines, rejected) == (["a", "ö"], [0, 2], {1: NOT_UTF8, 3: NOT_UTF8})
    assert counts == LineCounts(4, 2, Counter({NOT_UTF8: 2}))


@given(st.lists(st.tuples(st.sampled_from("fg"), st.integers(0, 2), st.integers(1, 4)), max_size=6), st.integers(1, 5))
def test_runs_are_the_lines_of_their_blocks_in_order(blocks, size):
    blocks = [*dict.fromkeys((file, start) for file, start, _ in blocks)]
    rows = [(f"{file}{start}-{n}", file, start) for file, start in blocks for n in range(3)]
    batches = [batch(*rows[at : at + size]) for at in range(0, len(rows), size)]
    seen = []
    for run in line_runs([batch(), *batches]):
        assert len(run.lines) > 0
        for number, line in enumerate(run.lines.to_pylist(), run.first):
            assert line == f"{run.block.file}{run.block.start}-{number}"
            seen.append(line)
    assert seen == [line for line, _, _ in rows]


def test_block_is_counted_once_and_completely():
    counted = {}

    def count(block, counts):
        assert block not in counted
        counted[block] = counts

    rows = [("a", "f", 0), ("7", "f", 0), ("B", "f", 9), ("c", "g", 0), ("d", "g", 0)]
    found = [*read_lines([batch(*rows[:1]), batch(*rows[1:4]), batch(*rows[4:])], LineReader(parse), count)]
    assert [run.block for run, _ in found] == [("f", 0), ("f", 0), ("f", 9), ("g", 0), ("g", 0)]
    assert counted == {
        ("f", 0): LineCounts(2, 1, Counter({"no letter": 1})),
        ("f", 9): LineCounts(1, 2),
        ("g", 0): LineCounts(2, 2),
    }


def test_block_that_is_not_read_to_its_end_is_not_counted():
    counted = []
    going = read_lines(
        [batch(("a", "f", 0)), batch(("b", "f", 0))], LineReader(parse), lambda *problem: counted.append(problem)
    )
    next(going)
    going.close()
    assert counted == []


def test_counts_are_printed_in_one_line():
    counts = LineCounts(1200, 1198) + LineCounts(3, 1, Counter({"no user": 2}))
    assert str(counts) == "1,203 lines, 1,199 rows, 2 rejected (no user: 2)"
    assert str(LineCounts(1, 1)) == "1 lines, 1 rows, none rejected"
