import numpy as np
import pytest

from cbnet_lab.workload.distributions import distinct, linear, uniform, weighted, zipf_weights

DRAWS = 100_000


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (uniform(4), [1 / 4] * 4),
        (linear(4), [7 / 16, 5 / 16, 3 / 16, 1 / 16]),  # falls by 2/16 with every rank
        (weighted(np.array([1.0, 0.0, 3.0, 0.0])), [1 / 4, 0, 3 / 4, 0]),
        (weighted(zipf_weights(3, 1.0)), [6 / 11, 3 / 11, 2 / 11]),
        (weighted(zipf_weights(3, 2.0)), [36 / 49, 9 / 49, 4 / 49]),
        (weighted(zipf_weights(3, 0.0)), [1 / 3] * 3),
    ],
)
def test_each_rank_has_its_probability(rng, likely, draw, expected):
    counts = np.bincount(draw(rng, DRAWS), minlength=len(expected))
    assert all(likely(count, DRAWS, share) for count, share in zip(counts, expected, strict=True))


def test_a_draw_of_nothing_is_empty(rng):
    for draw in (uniform(3), linear(3), weighted(np.ones(3))):
        assert len(draw(rng, 0)) == 0


def test_distinct_ranks_are_those_of_drawing_again_on_repetition(rng, likely):
    # Two of three with weights 6, 3, 2: {0, 1} is 0 then 1, or 1 then 0: 6/11 · 3/5 + 3/11 · 6/8.
    pairs = distinct(rng, zipf_weights(3, 1.0), np.full(DRAWS, 2)).reshape(-1, 2)
    assert all(pairs[:, 0] != pairs[:, 1])
    assert likely((pairs[:, 0] == 0).sum(), DRAWS, 6 / 11)
    assert likely((pairs.sum(axis=1) == 1).sum(), DRAWS, 18 / 55 + 18 / 88)


def test_distinct_gives_each_group_its_size(rng):
    sizes = np.array([1, 3, 2, 3])
    groups = np.split(distinct(rng, np.ones(3), sizes), np.cumsum(sizes)[:-1])
    assert [len(set(group.tolist())) for group in groups] == sizes.tolist()
