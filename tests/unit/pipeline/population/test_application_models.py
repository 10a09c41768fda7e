import numpy as np
import pytest

from cbnet.errors import InputError
from cbnet.pipeline.population.application_models import default_models
from cbnet.pipeline.population.user_model import user_sets

KINDS = ["web", "blog", "video", "social"]


def test_models_share_no_tag():
    models = default_models(KINDS, first=10)
    tags = [{*user_sets(model, 0, 0, np.arange(300), 5)[1].tags.tolist()} for model in models.values()]
    assert min(map(min, tags)) >= 10
    for index, own in enumerate(tags):
        for other in tags[:index]:
            assert not own & other


def test_blogs_have_few_topics_of_ten_tags():
    # [2014 §4.2.1]: 400 topics, 10 tags each
    sets = user_sets(default_models(["blog"])["blog"], 0, 0, np.arange(5000), 3.0)[1]
    assert set(sets.sizes.tolist()) == {10}
    assert 300 < len({tuple(tags) for tags in sets.to_lists()}) <= 400


def test_web_users_have_the_tags_of_a_published_crawl():
    # KONECT delicious-ut, per user: 361.6 tags, 98.4 of them different; within a tenth
    counts, sets = user_sets(default_models(["web"])["web"], 0, 0, np.arange(3000), 361.6 / 3.12)
    users = np.repeat(np.arange(3000), counts)[sets.rows]
    pairs = len(np.unique((users << 32) | sets.tags))
    assert pairs / len(sets.tags) == pytest.approx(82.0 / 301.2, rel=0.1)


def test_unknown_application_is_refused():
    with pytest.raises(InputError, match="unknown application 'mail'"):
        default_models(["mail"])
