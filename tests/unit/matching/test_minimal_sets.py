"""Minimal sets against brute force, and against the reduction of predicates."""

import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbnet import Descriptor, InputError, Predicate, reduce
from cbnet.matching.minimal_sets import minimal

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
