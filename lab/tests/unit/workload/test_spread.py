import numpy as np
import pytest

from cbnet_lab.workload.scenario import fixed_spread, random_spread


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def test_drawn_numbers_are_uniform_in_the_half_open_range(rng, likely, likely_mean):
    counts = random_spread(100_000, 1, 10)(rng)
    assert (len(counts), counts.min(), counts.max()) == (100_000, 1, 9)
    assert likely_mean(counts.mean(), 100_000, 1, 9)
    assert all(likely((counts == number).sum(), 100_000, 1 / 9) for number in range(1, 10))


@pytest.mark.parametrize(("filters", "interfaces"), [(1, 1), (1000, 1), (1000, 7), (1000, 999), (5, 5)])
def test_dealt_numbers_are_exact_and_leave_no_interface_out(rng, filters, interfaces):
    counts = fixed_spread(filters, interfaces)(rng)
    assert (len(counts), counts.sum()) == (interfaces, filters)
    assert counts.min() >= 1


def test_without_interfaces_each_filter_has_its_own(rng):
    assert fixed_spread(1000, None)(rng).tolist() == [1] * 1000


def test_the_rest_is_dealt_at_random(rng, likely):
    counts = fixed_spread(100_010, 10)(rng)
    assert all(likely(count - 1, 100_000, 1 / 10) for count in counts)
    assert len(set(counts.tolist())) > 1
