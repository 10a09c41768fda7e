import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.descriptor_reference import reference_covered, reference_uncovered

from cbnet.matching.minimal_sets import minimal
from cbnet.pipeline.tables.containment import covered, first_equal, uncovered
from cbnet.pipeline.tables.tag_sets import TagSets

TAGS = st.frozensets(st.integers(0, 9) | st.sampled_from([70_000, 2**31 - 1]), min_size=1, max_size=6)
ROW = st.tuples(st.integers(0, 2), TAGS, st.integers(1, 7))
ROWS = st.lists(ROW, max_size=30)


def columns(rows):
    groups, sets, masks = zip(*rows, strict=True) if rows else ((), (), ())
    return np.array(groups, dtype=np.int32), TagSets.of(sets), np.array(masks, dtype=np.uint64)


def test_a_descriptor_with_more_tags_is_redundant():
    # [2014 §3.2.1]: {networking} makes {networking, conference} redundant on the same interface, not on another
    networking, conference = 0, 1
    rows = [(0, {networking, conference}, 1), (0, {networking}, 1), (1, {networking, conference}, 1)]
    assert uncovered(*columns(rows)).tolist() == [0, 1, 1]


def test_only_what_is_on_the_same_tree_makes_redundant():
    rows = [(0, {4}, 0b01), (0, {1, 4}, 0b11), (0, {1, 4}, 0b10)]
    assert uncovered(*columns(rows)).tolist() == [0b01, 0b10, 0]


@given(ROWS)
def test_uncovered_is_what_the_reference_says(rows):
    expected = reference_uncovered(*([row[place] for row in rows] for place in range(3)))
    assert uncovered(*columns(rows)).tolist() == expected


@given(ROWS, st.lists(st.tuples(ROW, st.integers(0, 6)), max_size=20))
def test_covered_is_what_the_reference_says(rows, asked):
    asked_rows, largest = [row for row, _ in asked], [most for _, most in asked]
    asked_groups, asked_sets, _ = columns(asked_rows)
    found = covered(*columns(rows), asked_groups, asked_sets, np.array(largest, dtype=np.int64))
    plain = [[row[place] for row in rows] for place in range(3)]
    asked_plain = [[row[place] for row in asked_rows] for place in range(2)]
    assert found.tolist() == reference_covered(*plain, *asked_plain, largest)


@given(st.lists(TAGS, max_size=30))
def test_equal_sets_are_numbered_by_the_first(sets):
    assert first_equal(TagSets.of(sets)).tolist() == [sets.index(tags) for tags in sets]


@pytest.mark.parametrize("seed", range(3))
def test_many_sets_on_one_tree_are_reduced_as_by_the_matcher(seed):
    rng = random.Random(seed)
    sets = TagSets.of(rng.sample(range(3000), rng.randint(1, 4)) for _ in range(20_000))
    groups = np.array([rng.randrange(5) for _ in range(20_000)], dtype=np.int32)
    left = uncovered(groups, sets, np.ones(20_000, dtype=np.uint64))
    assert np.flatnonzero(left).tolist() == minimal(sets.to_arrow(), pa.array(groups)).tolist()
