import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from cbnet.pipeline.ingest.list_columns import (
    filter_elements,
    from_lengths,
    lengths_of,
    rows_of,
    sets_with_counts,
    sorted_sets,
)

TEXTS = st.text(st.sampled_from("abé\U0001f600Z"), max_size=3)
LISTS = st.lists(st.lists(TEXTS, max_size=5), max_size=8)


def column(lists):
    return pa.array(lists, pa.list_(pa.string()))


@given(LISTS)
def test_lists_equal_their_elements_and_lengths(lists):
    lengths = lengths_of(column(lists))
    assert lengths.tolist() == [len(each) for each in lists]
    assert from_lengths(column(lists).flatten(), lengths).to_pylist() == lists
    assert rows_of(lengths).tolist() == [row for row, each in enumerate(lists) for _ in each]


def test_null_has_no_elements():
    assert lengths_of(column([["a"], None, []])).tolist() == [1, 0, 0]


def test_slice_has_only_its_lists():
    middle = column([["a"], ["b", "c"], ["d"]]).slice(1, 1)
    assert lengths_of(middle).tolist() == [2]
    assert filter_elements(middle, np.array([False, True])).to_pylist() == [["c"]]


@given(LISTS, st.data())
def test_filter_elements_keeps_the_flagged_elements(lists, data):
    keep = [[data.draw(st.booleans()) for _ in each] for each in lists]
    flags = np.array([flag for flags in keep for flag in flags], dtype=bool)
    expected = [
        [x for x, kept in zip(each, flags, strict=True) if kept] for each, flags in zip(lists, keep, strict=True)
    ]
    assert filter_elements(column(lists), flags).to_pylist() == expected


@given(LISTS)
def test_sorted_sets_are_sorted_sets(lists):
    rows = rows_of(lengths_of(column(lists)))
    found = sorted_sets(column(lists).flatten(), rows, len(lists))
    assert found.to_pylist() == [sorted(set(each)) for each in lists]


@given(st.lists(st.lists(st.tuples(st.one_of(st.none(), TEXTS), st.integers(0, 9)), max_size=5), max_size=8))
def test_weights_of_equal_elements_are_added(lists):
    elements = pa.array([word for each in lists for word, _ in each], pa.string())
    weights = np.array([weight for each in lists for _, weight in each], dtype=np.int64)
    rows = np.array([row for row, each in enumerate(lists) for _ in each], dtype=np.int64)
    words, sums = sets_with_counts(elements, rows, weights, len(lists))
    expected = []
    for each in lists:
        total = {}
        for word, weight in each:
            if word is not None:
                total[word] = total.get(word, 0) + weight
        expected.append(sorted(total.items()))
    assert words.to_pylist() == [[word for word, _ in each] for each in expected]
    assert sums.to_pylist() == [[weight for _, weight in each] for each in expected]
