import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.descriptor_reference import reference_covered, reference_uncovered

from cbnet.matching.minimal_sets import first_equal, minimal, minimal_masks, subset_masks
from cbnet.matching.storage.tag_sets import TagSets

TAGS = st.frozensets(st.integers(0, 9) | st.sampled_from([70_000, 2**31 - 1]), min_size=1, max_size=6)
ROW = st.tuples(st.integers(0, 2), TAGS, st.integers(1, 7))
ROWS = st.lists(ROW, max_size=30)


def columns(rows):
    groups, sets, masks = zip(*rows, strict=True) if rows else ((), (), ())
    return np.array(groups, dtype=np.int32), TagSets.of(sets), np.array(masks, dtype=np.uint64)


def test_superset_of_another_descriptor_is_redundant():
    # [2014 §3.2.1]: {networking} makes {networking, conference} redundant on the same interface, not on another
    networking, conference = 0, 1
    rows = [(0, {networking, conference}, 1), (0, {networking}, 1), (1, {networking, conference}, 1)]
    assert minimal_masks(*columns(rows)).tolist() == [0, 1, 1]


def test_subset_makes_a_set_redundant_only_in_the_same_case():
    rows = [(0, {4}, 0b01), (0, {1, 4}, 0b11), (0, {1, 4}, 0b10)]
    assert minimal_masks(*columns(rows)).tolist() == [0b01, 0b10, 0]


@given(ROWS)
def test_minimal_masks_agree_with_the_reference(rows):
    expected = reference_uncovered(*([row[column] for row in rows] for column in range(3)))
    assert minimal_masks(*columns(rows)).tolist() == expected


@given(ROWS, st.lists(st.tuples(ROW, st.integers(0, 6)), max_size=20))
def test_subset_masks_agree_with_the_reference(rows, limited_queries):
    queries, max_sizes = [row for row, _ in limited_queries], [size for _, size in limited_queries]
    query_groups, query_sets, _ = columns(queries)
    actual = subset_masks(*columns(rows), query_groups, query_sets, np.array(max_sizes, dtype=np.int64))
    plain = [[row[column] for row in rows] for column in range(3)]
    plain_queries = [[row[column] for row in queries] for column in range(2)]
    assert actual.tolist() == reference_covered(*plain, *plain_queries, max_sizes)


@given(st.lists(TAGS, max_size=30))
def test_equal_sets_have_the_first_row_in_common(sets):
    assert first_equal(TagSets.of(sets)).tolist() == [sets.index(tags) for tags in sets]


@pytest.mark.parametrize("seed", range(3))
def test_both_kernels_find_the_same_minimal_sets(seed):
    rng = random.Random(seed)
    sets = TagSets.of(rng.sample(range(3000), rng.randint(1, 4)) for _ in range(20_000))
    groups = np.array([rng.randrange(5) for _ in range(20_000)], dtype=np.int32)
    left = minimal_masks(groups, sets, np.ones(20_000, dtype=np.uint64))
    assert np.flatnonzero(left).tolist() == minimal(sets.to_arrow(), pa.array(groups)).tolist()
