import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbnet.pipeline.ingest.word_count_parser import NOT_COUNTS, UNKNOWN_WORD, WRONG_NUMBER, parse_word_counts
from cbnet.pipeline.schemas import COUNTS, arrow_schema

WORDS = [f"w{number}" for number in range(20)]


def parse(*lines):
    parsed = parse_word_counts(pa.array(lines, pa.string()), arrow_schema(COUNTS), pa.array(WORDS))
    assert parsed.rows.schema == arrow_schema(COUNTS)
    rows = [(row["words"], row["counts"]) for row in parsed.rows.to_pylist()]
    return rows, parsed.lines.tolist(), parsed.rejected


def test_words_are_looked_up_by_number():
    assert parse("3 0:2 7:1 12:1") == ([(["w0", "w7", "w12"], [2, 1, 1])], [0], {})


def test_document_may_be_empty():
    assert parse("0", " 0 ", "1 3:1 ") == ([([], []), ([], []), (["w3"], [1])], [0, 1, 2], {})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("2 1:1", WRONG_NUMBER), ("0 1:1", WRONG_NUMBER), ("1", WRONG_NUMBER),
        ("1 20:1", UNKNOWN_WORD), ("1 999999999:1", UNKNOWN_WORD),
        ("x", NOT_COUNTS), ("", NOT_COUNTS), ("1 1", NOT_COUNTS), ("1 1:", NOT_COUNTS), ("1 -1:1", NOT_COUNTS),
        ("1 1:1:1", NOT_COUNTS), ("1 1:9999999999", NOT_COUNTS), ("1:1", NOT_COUNTS),
    ],
)  # fmt: skip
def test_malformed_lines_are_rejected_with_a_reason(line, reason):
    rows, lines, rejected = parse("1 1:1", line, "1 2:5")
    assert (rows, lines, rejected) == ([(["w1"], [1]), (["w2"], [5])], [0, 2], {1: reason})


@given(st.lists(st.lists(st.tuples(st.integers(0, 25), st.integers(0, 99)), max_size=4), max_size=6), st.integers(0, 1))
def test_batch_equals_line_by_line_parsing(documents, excess):
    lines = [" ".join([str(len(pairs) + excess), *(f"{word}:{count}" for word, count in pairs)]) for pairs in documents]
    rows, numbers, rejected = parse(*lines)
    good = [] if excess else [n for n, pairs in enumerate(documents) if all(word < 20 for word, _ in pairs)]
    assert numbers == good
    assert rows == [([WORDS[w] for w, _ in documents[n]], [c for _, c in documents[n]]) for n in good]
    assert sorted(rejected) == [n for n in range(len(documents)) if n not in good]
