import csv
import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbnet.pipeline.ingest.fields import NOT_QUOTED, TOO_FEW, WRONG_COUNT, Layout, split_fields

CELLS = st.text(
    st.characters(exclude_characters="\t\r\n\x85\x1c\x1d\x1e", exclude_categories=["Cs", "Zl", "Zp"]), max_size=4
)


def cut(layout, *lines):
    found = layout.cut(pa.array(lines, pa.string()))
    return [column.to_pylist() for column in found.columns], found.lines.tolist(), found.bad


def test_the_wanted_columns_are_taken_in_the_wanted_order():
    assert cut(Layout("\t", [2, 0]), "a\tb\tc", "d\te\tf\tg") == ([["c", "f"], ["a", "d"]], [0, 1], {})


def test_a_line_without_a_wanted_column_is_left_out():
    assert cut(Layout("\t", [1]), "a", "a\tb", "") == ([["b"]], [1], {0: TOO_FEW, 2: TOO_FEW})


def test_with_a_known_width_every_line_must_have_it():
    assert cut(Layout(",", [0], 2), "a,b", "a", "a,b,c") == ([["a"]], [0], {1: WRONG_COUNT, 2: WRONG_COUNT})


def test_blanks_are_any_number_of_any_kind():
    assert cut(Layout(" ", [0, 1]), "  12 \t 13\u3000", "7 8") == ([["12", "7"], ["13", "8"]], [0, 1], {})


def test_without_quoting_quotes_are_letters():
    assert cut(Layout(",", [0]), '"a,b"') == ([['"a']], [0], {})


def test_quoted_fields_may_hold_separators_and_quotes():
    lines = ['1,"x, ""y""",2', "3,z,4", '"5",6,"7"']
    assert cut(Layout(",", [1, 2], 3, quoted=True), *lines) == ([['x, "y"', "z", "6"], ["2", "4", "7"]], [0, 1, 2], {})


@pytest.mark.parametrize("line", ['a,"b', 'a,"b"c', '"', 'a,"b\n'])
def test_wrong_quotes_are_reported_and_do_not_touch_the_next_line(line):
    found = cut(Layout(",", [0, 1], 2, quoted=True), line, "c,d")
    assert found == ([["c"], ["d"]], [1], {0: NOT_QUOTED})


def test_quoted_lines_must_have_the_width_too():
    assert cut(Layout(",", [0], 2, quoted=True), '"a",b,c', '"a"') == ([[]], [], {0: WRONG_COUNT, 1: WRONG_COUNT})
    assert cut(Layout(",", [1], quoted=True), '"a"') == ([[]], [], {0: TOO_FEW})


def test_no_lines_are_no_rows():
    for quoted in (False, True):
        assert cut(Layout(",", [0, 3], quoted=quoted)) == ([[], []], [], {})


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=6))
def test_plain_lines_are_cut_like_python_cuts_them(rows):
    lines = ["\t".join(row) for row in rows]
    assert cut(Layout("\t", [0, 1, 2], 3), *lines)[0] == [[row[place] for row in rows] for place in range(3)]


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=6), st.sampled_from(",;\t"))
def test_what_a_writer_of_csv_quotes_is_read_back(rows, separator):
    lines = []
    for row in rows:
        out = io.StringIO()
        csv.writer(out, delimiter=separator, lineterminator="").writerow(row)
        lines.append(out.getvalue())
    columns, numbers, bad = cut(Layout(separator, [0, 1, 2], 3, quoted=True), *lines)
    assert (columns, bad) == ([[row[place] for row in rows] for place in range(3)], {})
    assert numbers == [*range(len(rows))]


def test_a_header_is_cut_like_the_lines():
    assert split_fields("a\tb", "\t", False) == ["a", "b"]
    assert split_fields('a,"b,c"', ",", True) == ["a", "b,c"]
    assert split_fields(" a  b ", " ", False) == ["a", "b"]
