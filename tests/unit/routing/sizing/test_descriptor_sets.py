from random import Random

import numpy as np
import pyarrow as pa
import pytest

from cbnet.errors import InputError
from cbnet.routing.sizing.descriptor_sets import DescriptorSets

TAGS = [["networking"], ["networking", "conference"], ["conference", "zurich"], ["zurich"], ["networking"]]


def descriptor_sets(tags):
    return DescriptorSets(np.zeros(len(tags), dtype=np.int32), pa.array(tags))


def minimal(descriptors, rows):
    return descriptors.minimal(descriptors.present(np.array(rows)))


def test_the_papers_example_keeps_networking_alone():
    descriptors = descriptor_sets(TAGS)
    kept = minimal(descriptors, range(len(TAGS)))
    assert [TAGS[row] for row in descriptors.examples[kept]] == [["networking"], ["zurich"]]
    assert [TAGS[row] for row in descriptors.examples[minimal(descriptors, [1, 2])]] == TAGS[1:3]  # no subsets present


def test_equal_sets_are_one_whatever_their_order():
    descriptors = descriptor_sets([["a", "b"], ["b", "a"], ["b", "a", "b"], ["a"]])
    assert descriptors.sets.tolist() == [0, 0, 0, 1]
    assert descriptors.sizes.tolist() == [2, 1]


def random_sets(count, seed):
    rng = Random(seed)
    tags = [f"tag {number}" for number in range(30)]
    weights = [1 / rank for rank in range(1, 31)]
    return [sorted(set(rng.choices(tags, weights, k=rng.randint(1, 6)))) for _ in range(count)]


@pytest.mark.parametrize("step", [11, 1])
def test_minimal_sets_and_subsets_are_those_of_brute_force(step):
    tags = random_sets(300, seed=step)
    descriptors = descriptor_sets(tags)
    sets = [frozenset(tags[row]) for row in descriptors.examples]
    rows = np.arange(0, len(tags), step)
    present = {frozenset(tags[row]) for row in rows}
    assert {sets[number] for number in descriptors.present(rows)} == present
    expected = {one for one in present if not any(other < one for other in present)}
    assert {sets[number] for number in minimal(descriptors, rows)} == expected
    has_subset = descriptors.has_subset(np.arange(len(sets)), descriptors.present(rows))
    assert has_subset.tolist() == [any(other < one for other in present) for one in sets]


def test_numbers_may_be_tags():
    assert minimal(descriptor_sets([[3, 4], [3]]), [0, 1]).tolist() == [1]


@pytest.mark.parametrize("tags", [[["a"], []], [["a"], None]])
def test_a_descriptor_without_tags_is_refused(tags):
    with pytest.raises(InputError, match="every descriptor needs a node and a tag; leave out those without tags"):
        descriptor_sets(tags)


def test_no_descriptors_are_refused():
    with pytest.raises(InputError, match="needs a node and a tag"):
        DescriptorSets(np.empty(0, dtype=np.int32), pa.array([], pa.list_(pa.string())))
