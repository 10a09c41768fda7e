"""Laws of rows of filters: a dict and a list of the free rows do the same, and no change takes long."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbnet._kernels.filter_rows import FilterRows
from cbnet.network.announce.subscriptions import FilterCounts


def check(rows, expected):
    assert len(rows) == len(expected)
    for filter, row in expected.items():
        assert rows.find(filter) == row
        assert rows[row] == filter


@given(st.lists(st.integers(0, 40), max_size=200))
def test_a_filter_has_the_row_that_it_got(numbers):
    rows, expected = FilterRows(), {}
    for number in numbers:
        filter = number.to_bytes(2)
        if filter in expected:
            rows.delete(expected.pop(filter))
            assert rows.find(filter) == -1
        else:
            expected[filter] = rows.insert(filter)
            assert len(set(expected.values())) == len(expected)
    check(rows, expected)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_many_filters_come_and_go(share):
    random, rows, expected = Random(share), FilterRows(), {}
    for target in (5_000, 40, 3_000, 0, 500):
        while len(expected) != target:
            moved = rows.moved
            if not expected or random.random() < (0.5 + share / 2 if len(expected) < target else 0.5 - share / 2):
                filter = random.randbytes(8)
                expected[filter] = rows.insert(filter)
            else:
                filter = next(iter(expected))
                rows.delete(expected.pop(filter))
            assert rows.moved - moved <= 64
        check(rows, expected)
        assert max(expected.values(), default=0) <= 5_000  # free rows are used again


def test_a_row_without_a_filter_has_none():
    rows = FilterRows()
    row = rows.insert(b"x")
    rows.delete(row)
    for absent in (row, row + 1):
        with pytest.raises(IndexError, match="has no filter"):
            rows[absent]


def test_a_filter_is_counted_until_it_is_removed_as_often():
    counts = FilterCounts()
    assert [counts.add(b"x"), counts.add(b"x"), counts.add(b"y")] == [True, False, True]
    assert [counts.remove(b"x"), len(counts), counts.remove(b"x"), len(counts)] == [False, 2, True, 1]
    assert counts.add(b"x")
