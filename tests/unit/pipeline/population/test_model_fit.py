"""Generated sets are compared with the trace of their model."""

import random

import numpy as np

from cbnet.matching.storage.tag_sets import TagSets
from cbnet.pipeline.population.model_fit import tags_of_first


def test_the_vocabulary_of_the_first_sets_is_that_of_brute_force():
    chance = random.Random(1)
    for _ in range(50):
        sets = [set(chance.sample(range(30), chance.randint(0, 4))) for _ in range(chance.randint(0, 40))]
        counts = sorted(chance.randint(0, len(sets)) for _ in range(5))
        expected = [len(set().union(*sets[:count])) for count in counts]
        assert tags_of_first(TagSets.of(sets), counts) == expected


def test_no_sets_have_no_tags():
    assert tags_of_first(TagSets(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32)), [0]) == [0]
