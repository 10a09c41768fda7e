from itertools import pairwise
from math import log

import pytest

from cbnet.routing.simulate.header_cost import header_costs
from cbnet.topology import topology

FIXED = 8 * 5  # a tuple, two small numbers and the two bytes before a text of bytes


def test_the_measured_excess_is_the_predicted_one():
    costs = list(header_costs(topology("powerlaw:60", 1), [4, 12], [2, 3, 4], messages=150))
    assert [(cost.receivers, cost.hashes) for cost in costs] == [(r, k) for r in (4, 12) for k in (2, 3, 4)]
    for cost in costs:
        assert cost.missed == 0
        assert cost.excess == pytest.approx(cost.expected, rel=0.25)
        assert 0 < cost.duplicates < cost.excess
        # k links / ln 2, in whole bytes
        assert 0 <= cost.header_bits - FIXED - cost.hashes * cost.links / log(2) <= 8
        assert cost.links >= cost.receivers


def test_more_hashes_cost_bits_and_save_packets():
    costs = list(header_costs(topology("powerlaw:60", 1), [10], [2, 4, 6, 8], messages=60))
    for fewer, more in pairwise(costs):
        assert fewer.header_bits < more.header_bits
        assert fewer.chance > more.chance
        assert fewer.excess > more.excess
        assert fewer.expected > more.expected
        assert fewer.links == more.links  # the same messages


def test_in_a_filter_of_fixed_size_larger_trees_cost_more():
    small, large = header_costs(topology("powerlaw:60", 1), [3, 20], [5], bits=128, messages=60)
    assert small.header_bits == large.header_bits == 128 + FIXED
    assert small.chance < large.chance
    assert small.excess < large.excess
