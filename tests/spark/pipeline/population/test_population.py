from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from cbnet.errors import InputError
from cbnet.matching.storage.tag_sets import TagSets
from cbnet.pipeline.population.population import APPLICATIONS, Application, cluster_sets, population
from cbnet.pipeline.population.synthetic_trace import synthetic_trace
from cbnet.pipeline.population.tag_model import TagModel, fit

SMALL = (
    Application("web", "subscription", 0.5, 6.5, 100_000),
    Application("video", "offer", 0.3, 2.0),
)


@pytest.fixture(scope="module")
def models():
    return {"web": fit(synthetic_trace("web", 2000)), "video": TagModel(TagSets.of([[1, 2], [3], [2, 5]]), 0.0, 9)}


def plain(models, first, applications, seed):
    """Make the population cluster by cluster."""
    rows = []
    for node, (begin, end) in enumerate(zip(first[:-1].tolist(), first[1:].tolist(), strict=True)):
        for cluster in range(begin, end):
            for number, app in enumerate(applications):
                _, sets = cluster_sets(np.array([cluster]), app, number, models[app.name], seed)
                rows += [(node, app.name, app.role, tuple(tags)) for tags in sets.to_lists()]
    return Counter(rows)


def test_shares_equal_those_of_the_paper():
    # [2014 §4.2.2]: half of the users; 181 of 2500 million; 10.9 % of 800 of 2500 million; 500 of 2500 million
    shares = {app.name: app.share for app in APPLICATIONS}
    assert shares == pytest.approx(
        {"web": 0.5, "blog": 181 / 2500, "video": 0.109 * 800 / 2500, "social": 0.2}, rel=1e-3
    )


def test_clusters_use_applications_with_their_probability():
    model = TagModel(TagSets.of([[1], [2]]), 0.0, 3)
    clusters = np.arange(100_000)
    for number, app in enumerate(APPLICATIONS):
        places, _ = cluster_sets(clusters, replace(app, descriptors=1.0, sets=None), number, model, 0)
        deviation = (app.share * (1 - app.share) * 100_000) ** 0.5
        assert abs(len(places) - app.share * 100_000) < 5 * deviation


def test_uses_of_applications_are_independent():
    model = TagModel(TagSets.of([[1]]), 0.0, 3)
    apps = [Application(name, "subscription", 0.5, 1.0) for name in "ab"]
    one, other = ({*cluster_sets(np.arange(20_000), app, n, model, 0)[0].tolist()} for n, app in enumerate(apps))
    assert abs(len(one & other) - 5000) < 5 * (20_000 * 0.25 * 0.75) ** 0.5


def test_cluster_has_the_mean_number_of_descriptors():
    model = TagModel(TagSets.of([[1], [2], [3]]), 0.0, 4)
    places, sets = cluster_sets(np.arange(20_000), Application("web", "subscription", 0.5, 2.25), 0, model, 0)
    counts = np.bincount(places)
    assert set(counts[counts > 0].tolist()) == {2, 3}
    assert counts[counts > 0].mean() == pytest.approx(2.25, abs=0.03)
    drawn = np.bincount(sets.tags)[1:]  # each of the three sets as often as the others
    assert drawn / drawn.sum() == pytest.approx([1 / 3] * 3, abs=0.01)


def test_population_does_not_depend_on_partitions(spark, models):
    first = np.array([0, 30, 30, 95, 120])
    expected = plain(models, first, SMALL, 4)
    assert {row[0] for row in expected} == {0, 2, 3}
    for partitions in (1, 2, 7):
        rows = population(spark, models, first, applications=SMALL, seed=4, partitions=partitions).collect()
        assert Counter((row.node, row.app, row.role, tuple(row.tags)) for row in rows) == expected


def test_no_clusters_give_no_descriptors(spark, models):
    assert population(spark, models, np.array([0, 0, 0]), applications=SMALL).collect() == []


@pytest.mark.parametrize(
    "app",
    [Application("mail", "offer", 0.1, 1), Application("web", "offer", 1.1, 1), Application("web", "offer", 0.1, 1, 0)],
)
def test_unknown_or_impossible_application_is_refused(spark, models, app):
    with pytest.raises(InputError, match=app.name):
        population(spark, models, np.array([0, 1]), applications=[app])
