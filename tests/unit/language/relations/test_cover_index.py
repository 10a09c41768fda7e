import pytest

from cbnet.language import Constraint, Filter, parse_filter
from cbnet.language.relations.cover_index import CoverIndex

NUL = "\0"


def index_of(*filters):
    index = CoverIndex(filters)
    for row in range(len(filters)):
        index.add(row)
    return index


@pytest.mark.parametrize(
    ("narrow", "wide", "expected"),
    [
        ([("<", 3)], ("<", 4), True),
        ([(">", 3)], (">=", 3), True),
        ([(">=", 3)], (">", 3), False),
        ([(">=", 6), ("<=", 6)], ("=", 6), True),
        ([(">=", 6), ("!=", 6)], (">", 6), True),  # the next number above 6 is the first
        ([("!=", 6), ("!=", 7)], ("!=", 7), True),
        ([("!=", 6)], ("!=", 7), False),
        ([("!=", "a")], ("!=", "a"), True),
        ([("!=", "a"), ("!=", "b")], ("!=", "a"), True),
        ([("!=", "b")], ("!=", "a"), False),
        ([("*=", "")], ("!=", "a"), False),
        ([("=", 1)], ("=", True), False),
        ([("!=", True)], ("=", False), True),
        ([("=", 1)], ("!=", "a"), False),  # of another type
        ([("^=", "ab")], ("<", "ac"), True),
        ([("^=", "ab")], ("*=", "b"), True),
        ([("$=", "ab")], ("<", "zz"), False),  # there are strings above that end with ab
        ([("$=", "ab"), ("*=", "cd")], ("*=", "d"), True),
        ([("=", "market")], ("$=", "ket"), True),
        ([("<", "")], ("=", 5), True),  # no string is below "": whatever is asked of none holds
        # All strings from "ab" up to "b" begin with "a", though the ends have no start in common.
        ([(">=", "ab"), ("<", "b")], ("*=", "a"), True),
        ([(">=", "ab"), ("<", "b")], ("*=", "b"), False),  # not "ac"
        # Between "a" and "a" NUL there is nothing else.
        ([(">=", "a"), ("<=", "a" + NUL), ("$=", NUL)], ("$=", "a" + NUL), True),
        ([("<=", "a" + NUL), ("$=", "a")], ("<=", "a"), True),
        ([(">", "a"), ("!=", "a" + NUL)], (">", "a" + NUL), True),
        ([("!=", 5), ("!=", 2**53 + 1)], ("!=", 2**53 + 1), True),
        ([(">=", 2**53 + 1)], ("!=", 2**53), True),
        ([(">=", 2**53 + 1)], ("!=", 2**53 + 2), False),
        ([(">", 7)], ("!=", 7), True),
        ([(">", 7)], ("!=", 8), False),
        ([("$=", "b")], ("!=", "a"), True),
        ([("$=", "b")], ("!=", "ab"), False),
    ],
)
def test_a_range_contains_another_if_all_its_values_do(narrow, wide, expected):
    index = index_of(Filter([Constraint("x", *wide)]), Filter(Constraint("x", *each) for each in narrow))
    assert (1 not in index or index.covers(0, 1)) is expected


def test_an_equal_test_of_numbers_is_one_and_of_other_types_is_not():
    index = index_of(*map(parse_filter, ("x < 1", "x < 1.0", "x = 1", "x = true")))
    assert index.describe(0) == index.describe(1)
    assert list(index.covered(0)) == [1]
    assert not index.covers(2, 3)
    assert not index.covers(2, 3)
    assert not index.covers(3, 2)


def test_any_value_is_inside_nothing_but_exists():
    index = index_of(*(Filter([Constraint("x", op, *value)]) for op, *value in [
        ("exists",), ("exists",), ("=", "a"), ("!=", "a"), ("^=", "a"), ("*=", "a"),
    ]))  # fmt: skip
    assert [index.covers(wide, 0) for wide in range(1, 6)] == [True, False, False, False, False]
    assert set(index.covered(0)) == {1, 2, 3, 4, 5}


def test_a_filter_that_no_message_matches_is_left_out():
    assert 0 not in index_of(parse_filter("x > 2 and x < 2"))
