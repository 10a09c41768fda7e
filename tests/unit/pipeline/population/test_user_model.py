"""Generated users: the kernel equals its plain twin, and follows the laws of the Pitman–Yor process."""

import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from support.user_tags_reference import Reference

from cbnet.pipeline.population.application_models import default_models
from cbnet.pipeline.population.user_model import NO_LIMIT, Activity, TagLaw, UserModel, drawn_sets, user_sets

SIZES = np.array([0.5, 0.8, 1.0])
LAW = TagLaw(growth=0.7, head=20.0, discount=0.6, concentration=2.0, cohesion=0.4)


def model_of(law, limit=NO_LIMIT, sizes=SIZES):
    return UserModel(law, Activity(1.0, np.array([0.0, 1.0]), sizes, limit), np.zeros(0, dtype=np.int32))


@pytest.mark.parametrize(
    ("law", "limit"),
    [(LAW, NO_LIMIT), (LAW, 3), (TagLaw(0.9, 2.0, 0.9, 0.01, 0.9), NO_LIMIT), (TagLaw(0.3, 5.0, 0.1, 50, 0), NO_LIMIT)],
)
def test_kernel_equals_its_plain_twin(law, limit):
    model = model_of(law, limit)
    for user in (0, 7, 2**40):
        sets = drawn_sets(model, 2**35 + 3, 5, np.array([user]), np.array([60]), np.array([0.3])).to_lists()
        twin = Reference(model.law.array().tolist(), model.last, limit, 2**35 + 3, (5 << 8 | 1, 5 << 8 | 2), user)
        assert sets == [twin.draw_set(twin.size(0.3, SIZES)) for _ in range(60)]


def sequential_tables(draws, discount, concentration, rng):
    """Return the number of tables of a Chinese restaurant with so many guests, seated one after another."""
    tables = []
    for seated in range(draws):
        weights = [count - discount for count in tables]
        chosen = rng.uniform(0, seated + concentration)
        for table, weight in enumerate(weights):
            chosen -= weight
            if chosen < 0:
                tables[table] += 1
                break
        else:
            tables.append(1)
    return tables


def test_tags_of_a_user_have_the_distribution_of_the_sequential_process():
    # A wide law never draws a tag twice, so tags are tables. Chi-square over the number of tags, and over the number of
    # tags used once, against a process that seats guests by all weights.
    draws, users = 12, 4000
    wide = TagLaw(0.95, 1e6, 0.5, 1.5, 0.0)
    sets = drawn_sets(model_of(wide), 1, 0, np.arange(users), np.full(users, draws), np.ones(users)).tags.reshape(
        users, draws
    )
    counts = [[*Counter(row).values()] for row in sets.tolist()]
    rng = random.Random(5)
    expected = [sequential_tables(draws, 0.5, 1.5, rng) for _ in range(10 * users)]
    for measure in (len, lambda tables: tables.count(1)):
        ours, theirs = (np.bincount([measure(each) for each in all], minlength=13) for all in (counts, expected))
        often = theirs >= 100
        share = theirs[often] / 10
        square = float(((ours[often] - share) ** 2 / (1.1 * share)).sum())  # the oracle has an error of its own
        assert square < often.sum() + 4 * (2 * often.sum()) ** 0.5


def test_expected_tags_of_a_user_are_those_of_the_recursion():
    law = TagLaw(0.7, 10, 0.6, 2.0, 0)
    expected, tables = [], 0.0
    for draws in range(50):
        tables += (2.0 + 0.6 * tables) / (2.0 + draws)
        expected.append(tables)
    assert law.expected_user_tags(np.arange(1, 51, dtype=float)) == pytest.approx(expected)


def test_common_law_has_its_popularity_and_vocabulary():
    # new tags only: every user has one draw
    law = TagLaw(0.6, 30.0, 0.5, 1.0, 0.0)
    tags = drawn_sets(model_of(law), 3, 0, np.arange(200_000), np.ones(200_000, dtype=np.int64), np.ones(200_000)).tags
    tail = 1 / 0.6 - 1
    for rank in (0, 10, 100, 10_000):  # P(tag >= rank) = (1 + rank / head)^-tail
        share = (1 + rank / 30) ** -tail
        assert abs((tags >= rank).mean() - share) < 5 * (share * (1 - share) / 200_000) ** 0.5 + 1e-4
    assert len(np.unique(tags)) == pytest.approx(law.expected_vocabulary(np.array([200_000.0]))[0], rel=0.02)


def test_walk_keeps_the_popularity_of_tags():
    # sets of two tags of one draw each: the second is always a neighbour of the first
    law = TagLaw(0.6, 30.0, 0.5, 1.0, 1.0)
    users = np.arange(100_000)
    two = np.array([1.0])
    sets = drawn_sets(model_of(law, sizes=two), 3, 0, users, np.ones(len(users), dtype=np.int64), np.zeros(len(users)))
    assert (sets.sizes == 2).all()
    for rank in (10, 100, 1000):
        assert (sets.tags >= rank).mean() == pytest.approx((1 + rank / 30) ** (1 - 1 / 0.6), rel=0.1)
    pairs = Counter(map(tuple, sets.to_lists()))
    independent = Counter(zip(sets.tags[::2].tolist(), np.roll(sets.tags[1::2], 1).tolist(), strict=True))
    assert len(pairs) < 0.8 * len(independent)  # the same neighbours for all users


def test_user_does_not_depend_on_the_others():
    web = default_models(["web"])["web"]
    counts, together = user_sets(web, 5, 2, np.arange(300), 8.0)
    lists, ends = together.to_lists(), np.cumsum(counts)
    for user in range(0, 300, 41):
        (count,), alone = user_sets(web, 5, 2, np.array([user]), 8.0)
        assert count == counts[user]
        assert alone.to_lists() == lists[ends[user] - count : ends[user]]
    backwards = user_sets(web, 5, 2, np.arange(300)[::-1], 8.0)[1]
    assert Counter(map(tuple, backwards.to_lists())) == Counter(map(tuple, lists))


def test_users_differ_by_seed_stream_and_number():
    web = default_models(["web"])["web"]
    made = [user_sets(web, seed, stream, np.array([user]), 50.0)[1].to_lists() for seed, stream, user in
            ((1, 0, 0), (2, 0, 0), (1, 1, 0), (1, 0, 1))]  # fmt: skip
    assert all(made[0] != other for other in made[1:])


@pytest.mark.parametrize("mean", [0.0, 0.3, 1.0, 1.28, 30.0])
def test_users_have_the_mean_number_of_sets(mean):
    counts, sets = user_sets(default_models(["web"])["web"], 0, 0, np.arange(20_000), mean)
    assert len(sets) == counts.sum()
    assert counts.mean() == pytest.approx(mean, rel=0.1)
    assert mean < 1 or counts.min() >= 1


def test_sets_are_sorted_distinct_and_of_the_sizes_of_the_model():
    _, sets = user_sets(default_models(["web"])["web"], 1, 0, np.arange(500), 40.0)
    for tags in sets.to_lists():
        assert tags
        assert all(one < other for one, other in pairwise(tags))
    assert sets.sizes.mean() == pytest.approx(3.18, rel=0.1)  # [2014 §4.2.1]: 420 million tags of 132 million bookmarks


def test_users_of_a_limited_trace_have_no_more_tags_than_its_limit():
    sets = drawn_sets(model_of(LAW, limit=4), 0, 0, np.array([3]), np.array([500]), np.ones(1))
    assert len(np.unique(sets.tags)) <= 4


def test_new_tags_have_numbers_of_their_own():
    model = UserModel(LAW, Activity(1.0, np.array([0.5]), SIZES), np.array([2, 5, 9], dtype=np.int32), 100, 3)
    _, sets = user_sets(model, 0, 0, np.arange(2000), 5.0)
    tags = np.unique(sets.tags)
    assert tags[:5].tolist() == [2, 5, 9, 100, 103]
    assert ((tags[3:] - 100) % 3 == 0).all()
    assert all(one < other for row in sets.to_lists() for one, other in pairwise(row))
