from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from support.crowds import minimal

from cbnet.errors import InputError
from cbnet.pipeline.population.application_models import default_models
from cbnet.pipeline.population.user_election import APPLICATIONS, Application, cluster_sets, population

SMALL = (
    Application("web", "subscription", 0.5, 6.5, 1000),
    Application("video", "offer", 0.3, 2.0, 50),
)


@pytest.fixture(scope="module")
def models():
    return default_models(["web", "video"])


def plain(models, first, applications, seed):
    """Make the population cluster by cluster."""
    rows, announced = [], Counter()
    for node, (begin, end) in enumerate(zip(first[:-1].tolist(), first[1:].tolist(), strict=True)):
        for cluster in range(begin, end):
            for number, app in enumerate(applications):
                _, sets = cluster_sets(np.array([cluster]), app, number, models[app.name], seed)
                rows += [(node, app.name, app.role, tuple(tags)) for tags in sets.to_lists()]
                announced[node] += len(minimal(sets.to_lists()))
    return Counter(rows), announced


def test_shares_equal_those_of_the_paper():
    # [2014 §4.2.2]: half of the users; 181 of 2500 million; 10.9 % of 800 of 2500 million; 500 of 2500 million
    shares = {app.name: app.share for app in APPLICATIONS}
    assert shares == pytest.approx(
        {"web": 0.5, "blog": 181 / 2500, "video": 0.109 * 800 / 2500, "social": 0.2}, rel=1e-3
    )


def test_clusters_use_applications_with_their_probability(models):
    clusters = np.arange(100_000)
    for number, app in enumerate(APPLICATIONS):
        places, _ = cluster_sets(clusters, replace(app, descriptors=1.0), number, models["video"], 0)
        deviation = (app.share * (1 - app.share) * 100_000) ** 0.5
        assert abs(len(places) - app.share * 100_000) < 5 * deviation


def test_uses_of_applications_are_independent(models):
    apps = [Application(name, "subscription", 0.5, 1.0, 10) for name in "ab"]
    clusters = np.arange(20_000)
    one, other = ({*cluster_sets(clusters, app, n, models["web"], 0)[0].tolist()} for n, app in enumerate(apps))
    assert abs(len(one & other) - 5000) < 5 * (20_000 * 0.25 * 0.75) ** 0.5


def test_clusters_elect_users_with_equal_probability(models):
    # ten users: clusters have one of ten lists of descriptors, each as often as the others
    places, sets = cluster_sets(np.arange(5000), Application("web", "offer", 1.0, 4.0, 10), 0, models["web"], 0)
    of_cluster = [[] for _ in range(5000)]
    for place, tags in zip(places.tolist(), sets.to_lists(), strict=True):
        of_cluster[place].append(tuple(tags))
    elected = Counter(map(tuple, of_cluster))
    assert len(elected) == 10
    assert all(abs(count - 500) < 5 * (5000 * 0.1 * 0.9) ** 0.5 for count in elected.values())


def test_population_does_not_depend_on_partitions(spark, models):
    first = np.array([0, 30, 30, 95, 120])
    expected, announced = plain(models, first, SMALL, 4)
    assert {row[0] for row in expected} == {0, 2, 3}
    for partitions in (1, 2, 7):
        rows = population(spark, models, first, applications=SMALL, seed=4, partitions=partitions).collect()
        assert Counter((row.node, row.app, row.role, tuple(row.tags)) for row in rows) == expected
        assert Counter(row.node for row in rows if row.announced) == announced


def test_no_clusters_give_no_descriptors(spark, models):
    assert population(spark, models, np.array([0, 0, 0]), applications=SMALL).collect() == []


@pytest.mark.parametrize(
    "app",
    [
        Application("mail", "offer", 0.1, 1, 9),
        Application("web", "offer", 1.1, 1, 9),
        Application("web", "offer", 0.1, 1, 0),
    ],
)
def test_unknown_or_impossible_application_is_refused(spark, models, app):
    with pytest.raises(InputError, match=app.name):
        population(spark, models, np.array([0, 1]), applications=[app])
