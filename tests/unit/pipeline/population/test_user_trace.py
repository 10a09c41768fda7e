"""A trace of three users, measured by hand:

user 0   {1} {1 2} {3 4}        user 1   {1 2} {1 2}        user 2   {3}
"""

import numpy as np
import pytest

from cbnet.errors import InputError
from cbnet.matching.minimal_sets import TagSets
from cbnet.pipeline.population.law_fit import measure
from cbnet.pipeline.population.user_trace import UserTrace


@pytest.fixture
def trace():
    return UserTrace(np.array([0, 0, 0, 1, 1, 2]), TagSets.of([[1], [1, 2], [3, 4], [1, 2], [1, 2], [3]]))


def test_users_are_counted(trace):
    assert len(trace) == 3
    assert trace.set_counts.tolist() == [3, 2, 1]
    assert trace.one_tag.tolist() == [1 / 3, 0, 1]
    assert trace.assigned.tolist() == [5, 4, 1]
    assert trace.tag_counts.tolist() == [4, 2, 1]
    assert trace.vocabulary == 4


def test_both_readings_of_the_descriptors_of_users(trace):
    # Minimal within their user: {1} and {3 4}; the first {1 2}; {3}: 4 of 6. Among all: {1} and {3}: 2 of 6, of 4 tags.
    measures = measure(trace)
    assert measures.kept_by_user == 4 / 6
    assert measures.kept == 2 / 6
    assert measures.kept_per_tag == 2 / 4
    assert measures.distinct == 4 / 6
    assert measures.tags_per_set == 10 / 6
    assert measures.tags_per_user == 7 / 3


def test_mixed_sets_have_a_private_tag_and_another(trace):
    # {1 2} of user 0: 2 is private, 1 is not; {3 4}: both are; those of user 1 have no private tag
    assert trace.mixed == 1 / 2


def test_vocabulary_grows_with_users(trace):
    users, pairs, tags = trace.curve
    assert users.tolist() == [1, 3]
    assert (pairs[-1], tags[-1]) == (7, 4)
    assert tags[0] == pairs[0] in (4, 2, 1)


@pytest.mark.parametrize("rows", [[], [[1], []]])
def test_trace_without_sets_or_with_an_empty_set_is_refused(rows):
    with pytest.raises(InputError, match="the trace has no sets, or an empty set"):
        UserTrace(np.zeros(len(rows), dtype=np.int64), TagSets.of(rows))
