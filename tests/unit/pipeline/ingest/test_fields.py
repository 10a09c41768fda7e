import csv
import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbnet.pipeline.ingest.fields import BAD_QUOTES, TOO_FEW, WRONG_COUNT, Layout, split_fields

CELLS = st.text(
    st.characters(exclude_characters="\t\r\n\x85\x1c\x1d\x1e", exclude_categories=["Cs", "Zl", "Zp"]), max_size=4
)


def split(layout, *lines):
    found = layout.split(pa.array(lines, pa.string()))
    return [column.to_pylist() for column in found.columns], found.lines.tolist(), found.rejected


def test_columns_are_returned_in_the_order_of_their_indexes():
    assert split(Layout("\t", [2, 0]), "a\tb\tc", "d\te\tf\tg") == ([["c", "f"], ["a", "d"]], [0, 1], {})


def test_line_without_a_column_is_rejected():
    assert split(Layout("\t", [1]), "a", "a\tb", "") == ([["b"]], [1], {0: TOO_FEW, 2: TOO_FEW})


def test_every_line_must_have_the_width_of_the_header():
    assert split(Layout(",", [0], 2), "a,b", "a", "a,b,c") == ([["a"]], [0], {1: WRONG_COUNT, 2: WRONG_COUNT})


def test_blank_separator_is_any_run_of_white_space():
    assert split(Layout(" ", [0, 1]), "  12 \t 13\u3000", "7 8") == ([["12", "7"], ["13", "8"]], [0, 1], {})


def test_quotes_are_ordinary_characters_unless_quoting_is_on():
    assert split(Layout(",", [0]), '"a,b"') == ([['"a']], [0], {})


def test_quoted_fields_may_contain_separators_and_quotes():
    lines = ['1,"x, ""y""",2', "3,z,4", '"5",6,"7"']
    assert split(Layout(",", [1, 2], 3, quoted=True), *lines) == (
        [['x, "y"', "z", "6"], ["2", "4", "7"]],
        [0, 1, 2],
        {},
    )


@pytest.mark.parametrize("line", ['a,"b', 'a,"b"c', '"', 'a,"b\n'])
def test_unbalanced_quotes_are_rejected_and_do_not_affect_the_next_line(line):
    found = split(Layout(",", [0, 1], 2, quoted=True), line, "c,d")
    assert found == ([["c"], ["d"]], [1], {0: BAD_QUOTES})


def test_quoted_lines_must_have_the_width_of_the_header():
    assert split(Layout(",", [0], 2, quoted=True), '"a",b,c', '"a"') == ([[]], [], {0: WRONG_COUNT, 1: WRONG_COUNT})
    assert split(Layout(",", [1], quoted=True), '"a"') == ([[]], [], {0: TOO_FEW})


def test_no_lines_give_no_rows():
    for quoted in (False, True):
        assert split(Layout(",", [0, 3], quoted=quoted)) == ([[], []], [], {})


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=6))
def test_plain_lines_are_split_as_by_python(rows):
    lines = ["\t".join(row) for row in rows]
    assert split(Layout("\t", [0, 1, 2], 3), *lines)[0] == [[row[index] for row in rows] for index in range(3)]


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=6), st.sampled_from(",;\t"))
def test_csv_writer_output_is_read_back(rows, separator):
    lines = []
    for row in rows:
        out = io.StringIO()
        csv.writer(out, delimiter=separator, lineterminator="").writerow(row)
        lines.append(out.getvalue())
    columns, numbers, rejected = split(Layout(separator, [0, 1, 2], 3, quoted=True), *lines)
    assert (columns, rejected) == ([[row[index] for row in rows] for index in range(3)], {})
    assert numbers == [*range(len(rows))]


def test_header_is_split_like_lines():
    assert split_fields("a\tb", "\t", False) == ["a", "b"]
    assert split_fields('a,"b,c"', ",", True) == ["a", "b,c"]
    assert split_fields(" a  b ", " ", False) == ["a", "b"]
