"""Minimal sets against brute force, and against the reduction of predicates."""

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.descriptor_reference import reference_covered, reference_uncovered

from cbnet import Descriptor, InputError, Predicate, reduce
from cbnet.matching import minimal_sets
from cbnet.matching.minimal_sets import TagSets, first_equal, minimal, minimal_masks, subset_masks

ROWS = [[1, 4], [4], [2, 4, 9], []]


def test_sets_are_read_back():
    sets = TagSets.of(ROWS)
    assert sets.offsets.tolist() == [0, 2, 3, 6, 6]
    assert sets.tags.tolist() == [1, 4, 4, 2, 4, 9]
    assert sets.to_lists() == ROWS
    assert sets.sizes.tolist() == [2, 1, 3, 0]
    assert sets.rows.tolist() == [0, 0, 1, 2, 2, 2]


def test_tags_are_sorted():
    assert TagSets.of([[9, 2, 4]]).to_lists() == [[2, 4, 9]]


def test_arrow_columns_are_read_whole_and_in_part():
    column = pa.array(ROWS, pa.list_(pa.int32()))
    assert TagSets.from_arrow(column).to_lists() == ROWS
    assert TagSets.from_arrow(column.slice(1, 2)).to_lists() == ROWS[1:3]
    assert TagSets.from_arrow(column.slice(4)).to_lists() == []
    assert TagSets.of(ROWS).to_arrow().equals(column)


def test_lists_have_64_bit_offsets_where_32_bits_are_too_small(monkeypatch):
    monkeypatch.setattr(minimal_sets, "_MAX_INT32", 5)
    large = TagSets.of(ROWS).to_arrow()
    assert large.equals(pa.array(ROWS, pa.large_list(pa.int32())))
    assert TagSets.from_arrow(large).to_lists() == ROWS


def test_rows_are_taken_in_any_order_and_again():
    assert TagSets.of(ROWS).take(np.array([2, 0, 2, 3])).to_lists() == [[2, 4, 9], [1, 4], [2, 4, 9], []]


def test_prefixes_are_the_first_tags():
    assert TagSets.of(ROWS).prefixes(np.array([1, 1, 2, 0])).to_lists() == [[1], [4], [2, 4], []]


def test_collections_are_concatenated():
    assert TagSets.concatenate([TagSets.of(ROWS), TagSets.of([]), TagSets.of([[7]])]).to_lists() == [*ROWS, [7]]
    assert len(TagSets.concatenate([])) == 0


sets_of_ints = st.lists(st.lists(st.integers(0, 7), max_size=5), max_size=12)
sets_of_strings = st.lists(st.lists(st.sampled_from(["", "a", "b", "é", "\U0001f600", "a b"]), max_size=4), max_size=10)


def brute_force(sets, groups=None):
    """Return the rows that contain no other set, of equal ones the first."""
    groups = groups or [None] * len(sets)
    known = [(frozenset(tags), group) for tags, group in zip(sets, groups, strict=True)]
    return [
        row
        for row, (own, group) in enumerate(known)
        if not any(
            group == other_group and (other < own or (other == own and place < row))
            for place, (other, other_group) in enumerate(known)
        )
    ]


@given(sets_of_ints, st.sampled_from([pa.int8(), pa.int64(), pa.uint32()]), st.booleans())
def test_minimal_sets_of_ints_are_those_of_brute_force(sets, type, is_large):
    column = pa.array(sets, (pa.large_list if is_large else pa.list_)(type))
    assert minimal(column).tolist() == brute_force(sets)


@given(sets_of_strings, st.sampled_from([pa.string(), pa.large_string()]), st.integers(0, 3))
def test_minimal_sets_of_strings_are_those_of_brute_force(sets, type, cut):
    column = pa.array(sets, pa.list_(type))
    assert minimal(column).tolist() == brute_force(sets)
    assert minimal(column.slice(cut)).tolist() == brute_force(sets[cut:])
    chunks = pa.chunked_array([column[:cut], column[cut:]], column.type)
    assert minimal(chunks).tolist() == brute_force(sets)


@given(st.lists(st.tuples(st.lists(st.integers(0, 4), max_size=4), st.sampled_from("xyz")), max_size=12))
def test_sets_of_one_group_only_are_compared(rows):
    sets, groups = [tags for tags, _ in rows], [group for _, group in rows]
    column = pa.array(sets, pa.list_(pa.int32()))
    assert minimal(column, pa.array(groups, pa.string())).tolist() == brute_force(sets, groups)
    numbers = pa.chunked_array([pa.array([ord(group) for group in groups], pa.int64())])
    assert minimal(column, numbers).tolist() == brute_force(sets, groups)


@given(sets_of_strings)
def test_minimal_sets_are_the_filters_of_the_reduced_predicate(sets):
    kept = [sets[row] for row in minimal(pa.array(sets, pa.list_(pa.string()))).tolist()]
    reduced = reduce(Predicate(Descriptor(tags) for tags in sets))
    assert {frozenset(tags) for tags in kept} == {filter.tags for filter in reduced.filters}
    assert len(kept) == len(reduced.filters)


@pytest.mark.parametrize(("universe", "least"), [(8, 1), (8, 3), (30, 2), (30, 4), (300, 1), (300, 2)])
def test_many_sets_are_those_of_brute_force(universe, least):
    chance = random.Random(f"{universe} {least}")
    sets = [chance.sample(range(universe), chance.randint(least, 7)) for _ in range(1500)]
    kept = brute_force(sets)
    assert minimal(pa.array(sets, pa.list_(pa.int32()))).tolist() == kept
    assert 0 < len(kept) < len(sets)


def test_large_sets_are_compared_in_full():
    whole = list(range(300))
    sets = [whole, whole[:-1], whole[1:], [*whole[:-1], 999], [*whole, 999], whole[::-1]]
    assert minimal(pa.array(sets, pa.list_(pa.int32()))).tolist() == brute_force(sets) == [1, 2]


def test_one_tag_may_be_in_all_sets():
    # one giant group: every set has the tag 0, and pairs of sets differ in the others
    sets = [[0, 1 + row % 500, 501 + row // 500] for row in range(20_000)] + [[0, 7]]
    kept = minimal(pa.array(sets, pa.list_(pa.int32())))
    assert len(kept) == 20_000 - 40 + 1  # 40 sets have 7 as their second
    assert 20_000 in kept


def test_an_empty_set_is_a_subset_of_all_others():
    sets = pa.array([["a"], [], ["b"], []], pa.list_(pa.string()))
    assert minimal(sets).tolist() == [1]
    assert minimal(sets, pa.array([1, 1, 2, 2])).tolist() == [1, 3]
    assert minimal(pa.array([[], []], pa.list_(pa.null()))).tolist() == [0]
    assert minimal(pa.array([], pa.list_(pa.string()))).tolist() == []


def test_of_equal_sets_the_first_stays():
    sets = [["b", "a"], ["a", "b", "a"], ["c"], ["c", "c"], ["c"]]
    assert minimal(pa.array(sets, pa.list_(pa.string()))).tolist() == [0, 2]


def test_a_dictionary_may_contain_a_tag_twice():
    values = pa.DictionaryArray.from_arrays([0, 1, 2], ["a", "b", "a"])
    sets = pa.ListArray.from_arrays(pa.array([0, 1, 3], pa.int32()), values)  # {a}, {b, a}
    assert minimal(sets).tolist() == [0]


@pytest.mark.parametrize(
    ("sets", "groups", "problem"),
    [
        (pa.array(["a"]), None, "string is not a list of tags"),
        (pa.array([[1.5]]), None, "double is not a valid type for tags"),
        (pa.array([[[1]]]), None, "not a valid type for tags"),
        (pa.array([["a"], None]), None, "row 2: the set is null"),
        (pa.array([["a"], ["b", None]]), None, "row 2: a tag is null"),
        (pa.array([["a"]]), pa.array([1, 2]), "1 sets and 2 groups"),
        (pa.array([["a"]]), pa.array([None], pa.int32()), "row 1: a group is null"),
    ],
)
def test_input_that_is_not_sets_of_tags_is_refused(sets, groups, problem):
    with pytest.raises(InputError, match=problem):
        minimal(sets, groups)


TAGS = st.frozensets(st.integers(0, 9) | st.sampled_from([70_000, 2**31 - 1]), min_size=1, max_size=6)
ROW = st.tuples(st.integers(0, 2), TAGS, st.integers(1, 7))
ROW_LISTS = st.lists(ROW, max_size=30)


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


@given(ROW_LISTS)
def test_minimal_masks_agree_with_the_reference(rows):
    expected = reference_uncovered(*([row[column] for row in rows] for column in range(3)))
    assert minimal_masks(*columns(rows)).tolist() == expected


@given(ROW_LISTS, st.lists(st.tuples(ROW, st.integers(0, 6)), max_size=20))
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
