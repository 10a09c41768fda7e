import numpy as np
import pytest

from cbnet.errors import InputError
from cbnet.pipeline.population.synthetic_trace import SHAPES, synthetic_trace


@pytest.mark.parametrize("app", SHAPES)
def test_trace_depends_on_the_seed_only(app):
    one, same, other = synthetic_trace(app, 500, 3), synthetic_trace(app, 500, 3), synthetic_trace(app, 500, 4)
    assert one.to_lists() == same.to_lists() != other.to_lists()


@pytest.mark.parametrize("app", SHAPES)
def test_sets_have_the_size_of_their_application(app):
    sets = synthetic_trace(app, 5000)
    assert len(sets) == 5000
    assert sets.sizes.min() >= 1
    assert sets.sizes.mean() == pytest.approx(SHAPES[app].tags, rel=0.1)
    assert all(len(set(tags)) == len(tags) for tags in sets.to_lists())


def test_tags_are_numbered_by_falling_frequency():
    counts = np.bincount(synthetic_trace("web", 5000).tags)
    assert (counts > 0).all()
    assert (np.diff(counts) <= 0).all()


def test_blogs_have_few_topics_of_ten_tags():
    # [2014 §4.2.1]: 400 topics, 10 tags each
    sets = synthetic_trace("blog", 5000)
    assert set(sets.sizes.tolist()) == {10}
    assert len({tuple(tags) for tags in sets.to_lists()}) <= 400


def test_vocabulary_grows_slower_than_the_trace():
    small, large = (len(np.unique(synthetic_trace("web", count).tags)) for count in (2000, 8000))
    assert small < large < 4 * small


def test_unknown_application_is_refused():
    with pytest.raises(InputError, match="unknown application 'mail'"):
        synthetic_trace("mail", 10)
