from itertools import pairwise

import numpy as np
import pytest

from cbnet.errors import InputError
from cbnet.matching.storage.tag_sets import TagSets
from cbnet.pipeline.population.model_fit import compare, measure
from cbnet.pipeline.population.synthetic_sets import synthetic_rows
from cbnet.pipeline.population.synthetic_trace import synthetic_trace
from cbnet.pipeline.population.tag_model import TagModel, distinct_share, fit


@pytest.fixture(scope="module")
def web():
    return fit(synthetic_trace("web", 20_000))


def test_row_does_not_depend_on_its_batch(web):
    together = synthetic_rows(web, 5, np.arange(1000)).to_lists()
    assert [synthetic_rows(web, 5, np.array([row])).to_lists()[0] for row in range(0, 1000, 97)] == together[::97]
    scattered = np.random.default_rng(0).permutation(1000)
    assert synthetic_rows(web, 5, scattered).to_lists() == [together[row] for row in scattered.tolist()]


def test_rows_differ_by_seed_and_by_row(web):
    sets = synthetic_rows(web, 5, np.arange(1000)).to_lists()
    assert sets != synthetic_rows(web, 6, np.arange(1000)).to_lists()
    assert sets != synthetic_rows(web, 5, np.arange(1000, 2000)).to_lists()


def test_sets_are_sorted_and_not_empty(web):
    for tags in synthetic_rows(web, 1, np.arange(5000)).to_lists():
        assert tags
        assert all(one < other for one, other in pairwise(tags))


@pytest.mark.parametrize("app", ["web", "blog", "video", "social"])
def test_synthetic_sets_have_the_measures_of_their_trace(app):
    # the measure of the issue: within 10 % at the trace's own size
    for row in compare(fit(synthetic_trace(app, 20_000)))["measures"]:
        assert abs(row["difference"]) < 0.1, row


def test_independent_tags_do_not_have_the_measures_of_the_trace():
    sets = synthetic_trace("social", 20_000)
    shuffled = np.random.default_rng(0).permutation(sets.tags)
    independent = TagSets.of({*tags} for tags in TagSets(sets.offsets, shuffled).to_lists())
    assert measure(independent).distinct > 1.3 * measure(sets).distinct


def test_without_mutation_and_rare_tags_sets_are_copies():
    sets = TagSets.of([[0, 1], [0, 2], [1, 2], [0, 1]])
    made = synthetic_rows(TagModel(sets, 0.0, 3), 0, np.arange(200)).to_lists()
    assert {tuple(tags) for tags in made} == {(0, 1), (0, 2), (1, 2)}


def test_replaced_tag_occurs_together_with_one_of_the_set():
    # two worlds that never meet: {0, 1, 2} and {3, 4, 5}
    sets = TagSets.of([[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5]])
    for tags in synthetic_rows(TagModel(sets, 0.9, 6), 0, np.arange(500)).to_lists():
        assert {*tags} <= {0, 1, 2} or {*tags} <= {3, 4, 5}


def test_tags_that_occur_once_stand_for_unseen_ones():
    sets = TagSets.of([[0, 1], [0, 2], [0, 3], [0, 4], [0, 1], [0, 5]])  # 2, 3, 4 and 5 occur once
    model = TagModel(sets, 0.0, first_new=100, stride=3)
    made = synthetic_rows(model, 0, np.arange(2000))
    new = np.unique(made.tags[made.tags > 5])
    assert len(new) > 10
    assert (new >= 100).all()
    assert ((new - 100) % 3 == 0).all()
    assert model.growth == 4 / 6
    assert {2, 3, 4, 5} < set(made.tags.tolist())


def test_tags_of_the_fastest_growing_vocabulary_fit_in_32_bits():
    model = TagModel(TagSets.of([[tag] for tag in range(50)]), 0.0, first_new=2**31 - 10, stride=4)
    made = synthetic_rows(model, 0, np.arange(5000))
    assert made.tags.min() >= 0
    assert set(made.tags.tolist()) - set(range(50)) <= {2**31 - 10, 2**31 - 6, 2**31 - 2}


def test_fitted_model_has_the_share_of_distinct_sets():
    sets = synthetic_trace("social", 5000)
    model = fit(sets)
    made = distinct_share(synthetic_rows(model, 0, np.arange(5000)))
    assert made == pytest.approx(distinct_share(sets), rel=0.03)


@pytest.mark.parametrize("rows", [[], [[1], []]])
def test_trace_without_sets_or_with_an_empty_set_is_refused(rows):
    with pytest.raises(InputError, match="the trace has no sets, or an empty set"):
        fit(TagSets.of(rows))


def test_measures_do_not_depend_on_tag_numbers():
    near = TagSets.of([[0, 1], [0], [0, 2], [1, 2]])
    far = TagSets.of([[0, 1], [0], [0, 2**31 - 1], [1, 2**31 - 1]])  # an array up to there would take 16 GB
    assert measure(far) == measure(near)
