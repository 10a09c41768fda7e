import numpy as np
import pytest

from cbnet.errors import InputError
from cbnet.matching.minimal_sets import TagSets
from cbnet.pipeline.population.application_models import models_of_apps, user_trace
from cbnet.pipeline.population.user_model import user_sets
from cbnet.pipeline.population.user_trace import UserTrace
from cbnet.pipeline.schemas import DESCRIPTORS, SETS

ROWS = [
    *(("web", "subscription", f"u{number % 20}", [0, number % 9 + 1]) for number in range(300)),
    ("web", "subscription", "u3", []),
]


def test_trace_has_the_sets_of_its_users(frame):
    expected = sorted((user, tags) for _, _, user, tags in ROWS if tags)
    names = sorted({user for user, _ in expected})
    for partitions in (1, 7):
        trace = user_trace(frame(ROWS, SETS, partitions), "web")
        assert [(names[user], tags) for user, tags in zip(trace.users, trace.sets.to_lists(), strict=True)] == expected


def test_tags_may_be_strings(frame):
    rows = [("web", "subscription", "a", ["x", "y"]), ("web", "subscription", "b", ["y"])]
    trace = user_trace(frame(rows, DESCRIPTORS), "web")
    assert trace.sets.to_lists() == [[0, 1], [0]]  # numbered by falling frequency


def test_large_trace_is_sampled_by_whole_users(frame):
    found = [user_trace(frame(ROWS, SETS, partitions), "web", max_sets=150) for partitions in (1, 7)]
    assert found[0].users.tolist() == found[1].users.tolist()
    assert set(found[0].set_counts.tolist()) == {15}  # each user has all its sets
    assert 3 <= len(found[0]) <= 17


def test_trace_without_sets_is_refused(frame):
    with pytest.raises(InputError, match="application 'blog' has no tag sets"):
        user_trace(frame([], SETS, 1), "application 'blog'")


def test_models_use_the_tags_of_their_trace_first():
    users = np.repeat(np.arange(50), 6)
    web = UserTrace(users, TagSets.of([[5 * (number % 7), 5 * (number % 7) + 2] for number in range(300)]))
    models = models_of_apps({"web": web}, {"web": "web", "clips": "video", "more": "video"}, known=40)
    tags = {app: {*user_sets(model, 0, 0, np.arange(200), 9)[1].tags.tolist()} for app, model in models.items()}
    assert {tag for tag in tags["web"] if tag < 40} == {*web.sets.tags.tolist()}
    assert not tags["web"] & tags["clips"]
    assert min(tags["clips"]) >= 40
    assert tags["clips"] == tags["more"]  # the same kind


def test_authors_of_blogs_choose_among_the_topics_of_the_trace():
    topics = [[1, 2, 3], [2, 4, 6], [7, 8, 9]]
    trace = UserTrace(np.repeat(np.arange(100), 2), TagSets.of(topics[number % 3] for number in range(200)))
    model = models_of_apps({"blog": trace}, {"blog": "blog"}, known=10)["blog"]
    assert {tuple(tags) for tags in user_sets(model, 0, 0, np.arange(300), 2)[1].to_lists()} == {*map(tuple, topics)}
