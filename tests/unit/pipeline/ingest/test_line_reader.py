from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from cbnet.pipeline.ingest.line_reader import NOT_UTF8, WRONG_HEADER, Block, Piece, Reader, Tally, pieces, read_pieces
from cbnet.pipeline.ingest.parse_result import Parsed


def parse(lines):
    """Take lines that begin with a letter, twice those that begin with a capital."""
    rows, numbers, bad = [], [], {}
    for number, line in enumerate(lines.to_pylist()):
        if not line[0].isalpha():
            bad[number] = "no letter"
        else:
            rows += [line] * (1 + line[0].isupper())
            numbers += [number] * (1 + line[0].isupper())
    batch = pa.RecordBatch.from_arrays([pa.array(rows, pa.string())], ["line"])
    return Parsed(batch, np.array(numbers, dtype=np.int64), bad)


def batch(*rows):
    lines, files, starts = zip(*rows, strict=True) if rows else ([], [], [])
    raw = pa.array([line.encode() if isinstance(line, str) else line for line in lines], pa.binary())
    text = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())  # unchecked, as Spark gives it
    return pa.RecordBatch.from_arrays(
        [text, pa.array(files, pa.string()), pa.array(starts, pa.int64())], ["value", "file", "start"]
    )


def read(reader, *lines, start=0, first=0):
    block = Block("f", start)
    found, tally = reader.read(Piece(block, first, batch(*((line, "f", start) for line in lines)).column(0)))
    return found.rows.column(0).to_pylist(), found.lines.tolist(), found.bad, tally


def test_rows_and_reasons_have_the_numbers_of_their_lines():
    rows, lines, bad, tally = read(Reader(parse), "a", "", "7", "B", " ", "c")
    assert (rows, lines, bad) == (["a", "B", "B", "c"], [0, 3, 3, 5], {2: "no letter"})
    assert tally == Tally(4, 4, Counter({"no letter": 1}))


def test_a_later_piece_goes_on_counting():
    assert read(Reader(parse), "a", "7", first=100)[1:3] == ([100], {101: "no letter"})


def test_the_header_is_the_first_line_of_a_file_and_no_other():
    reader = Reader(parse, header="h")
    assert read(reader, "h", "a", "h")[0] == ["a", "h"]
    assert read(reader, "h", "a", start=7)[0] == ["h", "a"]
    assert read(reader, "h", "a", first=1)[0] == ["h", "a"]
    assert read(reader, "h", "a")[3] == Tally(1, 1, Counter())


def test_another_header_is_reported():
    rows, _, bad, tally = read(Reader(parse, header="h"), "other", "a")
    assert (rows, bad, tally) == (["a"], {0: WRONG_HEADER}, Tally(2, 1, Counter({WRONG_HEADER: 1})))


def test_comments_are_left_out_where_the_source_has_them():
    assert read(Reader(parse, comment="#"), "#x", "a", "a#")[0] == ["a", "a#"]
    assert read(Reader(parse), "#x")[2] == {0: "no letter"}


def test_ends_of_windows_and_marks_of_byte_order_are_no_content():
    assert read(Reader(parse, header="h"), "\ufeffh\r", "a\r", "\r", "b")[0] == ["a", "b"]
    assert read(Reader(parse), "\ufeffa")[0] == ["a"]
    assert read(Reader(parse), "a", "\ufeffb")[2] == {1: "no letter"}


def test_bytes_that_are_no_text_are_refused_and_the_others_read():
    rows, lines, bad, tally = read(Reader(parse), "a", b"\xffx", "ö", b"\xed\xa0\x80")
    assert (rows, lines, bad) == (["a", "ö"], [0, 2], {1: NOT_UTF8, 3: NOT_UTF8})
    assert tally == Tally(4, 2, Counter({NOT_UTF8: 2}))


@given(st.lists(st.tuples(st.sampled_from("fg"), st.integers(0, 2), st.integers(1, 4)), max_size=6), st.integers(1, 5))
def test_pieces_are_the_lines_of_their_blocks_in_order(blocks, size):
    blocks = [*dict.fromkeys((file, start) for file, start, _ in blocks)]
    rows = [(f"{file}{start}-{n}", file, start) for file, start in blocks for n in range(3)]
    batches = [batch(*rows[at : at + size]) for at in range(0, len(rows), size)]
    seen = []
    for piece in pieces([batch(), *batches]):
        assert len(piece.lines) > 0
        for number, line in enumerate(piece.lines.to_pylist(), piece.first):
            assert line == f"{piece.block.file}{piece.block.start}-{number}"
            seen.append(line)
    assert seen == [line for line, _, _ in rows]


def test_a_block_is_noted_once_and_whole():
    noted = {}

    def note(block, tally):
        assert block not in noted
        noted[block] = tally

    rows = [("a", "f", 0), ("7", "f", 0), ("B", "f", 9), ("c", "g", 0), ("d", "g", 0)]
    found = [*read_pieces([batch(*rows[:1]), batch(*rows[1:4]), batch(*rows[4:])], Reader(parse), note)]
    assert [piece.block for piece, _ in found] == [("f", 0), ("f", 0), ("f", 9), ("g", 0), ("g", 0)]
    assert noted == {("f", 0): Tally(2, 1, Counter({"no letter": 1})), ("f", 9): Tally(1, 2), ("g", 0): Tally(2, 2)}


def test_a_block_that_is_not_read_to_its_end_is_not_noted():
    noted = []
    going = read_pieces([batch(("a", "f", 0)), batch(("b", "f", 0))], Reader(parse), lambda *said: noted.append(said))
    next(going)
    going.close()
    assert noted == []


def test_a_tally_is_told_in_a_line():
    tally = Tally(1200, 1198) + Tally(3, 1, Counter({"no user": 2}))
    assert str(tally) == "1,203 lines, 1,199 rows, 2 rejected (no user: 2)"
    assert str(Tally(1, 1)) == "1 lines, 1 rows, none rejected"
