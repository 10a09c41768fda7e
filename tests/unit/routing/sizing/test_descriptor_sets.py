"""Many descriptors as arrays."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from cbnet.errors import InputError
from cbnet.routing.sizing import descriptor_sets as module
from cbnet.routing.sizing.descriptor_sets import Descriptors, in_parts, in_rows

SAID = [["networking"], ["networking", "conference"], ["conference", "zurich"], ["zurich"], ["networking"]]


def of(said):
    return Descriptors(np.zeros(len(said), dtype=np.int32), pa.array(said))


def test_the_paper_s_example_keeps_networking_alone():
    found = of(SAID)
    kept = found.kept(np.arange(len(SAID)))
    assert [SAID[row] for row in found.examples[kept]] == [["networking"], ["zurich"]]
    assert [SAID[row] for row in found.examples[found.kept(np.array([1, 2]))]] == SAID[1:3]  # without what covers them


def test_equal_sets_are_one_whatever_their_order():
    found = of([["a", "b"], ["b", "a"], ["b", "a", "b"], ["a"]])
    assert found.sets.tolist() == [0, 0, 0, 1]
    assert found.sizes.tolist() == [2, 1]


def random_sets(count, seed):
    rng = Random(seed)
    tags = [f"tag {number}" for number in range(30)]
    weights = [1 / rank for rank in range(1, 31)]
    return [sorted(set(rng.choices(tags, weights, k=rng.randint(1, 6)))) for _ in range(count)]


@pytest.mark.parametrize("at_once", [1, 1000, 1 << 22])
def test_minimal_sets_are_those_of_brute_force(monkeypatch, at_once):
    monkeypatch.setattr(module, "_AT_ONCE", at_once)
    said = random_sets(300 if at_once > 1 else 40, seed=at_once)
    found = of(said)
    sets = [frozenset(said[row]) for row in found.examples]
    counts, parts = found.subsets(np.arange(len(sets)))
    rows = np.split(parts, np.cumsum(counts)[:-1])
    assert [set(row.tolist()) for row in rows] == [{j for j, b in enumerate(sets) if b < a} for a in sets]
    for few in (range(0, len(said), 11), range(len(said))):  # by the sets that are asked for, and by all pairs
        there = {frozenset(said[row]) for row in few}
        minimal = {each for each in there if not any(other < each for other in there)}
        assert {sets[number] for number in found.kept(np.array(few))} == minimal


def test_numbers_may_be_tags():
    assert of([[3, 4], [3]]).kept(np.arange(2)).tolist() == [1]


@pytest.mark.parametrize("said", [[["a"], []], [["a"], None]])
def test_a_descriptor_without_tags_is_refused(said):
    with pytest.raises(InputError, match="every descriptor needs a node and a tag; leave out those without tags"):
        of(said)


def test_no_descriptors_are_refused():
    with pytest.raises(InputError, match="needs a node and a tag"):
        Descriptors(np.empty(0, dtype=np.int32), pa.array([], pa.list_(pa.string())))


def test_rows_are_laid_one_behind_the_other():
    assert in_rows(np.array([5, 0, 9]), np.array([2, 0, 3])).tolist() == [5, 6, 9, 10, 11]


def test_parts_hold_no_more_than_asked_for_unless_they_are_one(monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", 10)
    assert [*in_parts(np.array([4, 4, 4, 20, 1, 0]))] == [slice(0, 2), slice(2, 3), slice(3, 4), slice(4, 6)]
