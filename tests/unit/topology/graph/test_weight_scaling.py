import random
from fractions import Fraction

import pytest

from cbnet.errors import InputError
from cbnet.topology import Graph
from cbnet.topology.graph.edges import Edge, exact_weight
from cbnet.topology.graph.weight_scaling import integer_weights


def edges(*weights):
    return [Edge(exact_weight(weight), None, line) for line, weight in enumerate(weights, 1)]


@pytest.mark.parametrize(
    ("weights", "scale", "whole"),
    [
        ((1, 2), 1, [1, 2]),
        ((1, "0.5", "0.25"), 100, [100, 50, 25]),
        ((Fraction(1, 10**15),), 10**15, [1]),
        ((), 1, []),
    ],
)
def test_the_scale_is_the_smallest_power_of_ten_that_makes_weights_whole(weights, scale, whole):
    assert integer_weights(edges(*weights)) == (scale, whole)


def test_weights_with_too_many_digits_are_rounded_all_alike():
    assert integer_weights(edges(0.1 + 0.2, 0.3)) == (10**15, [3 * 10**14, 3 * 10**14])
    assert integer_weights(edges(Fraction(1, 3))) == (10**15, [333_333_333_333_333])
    # 100 and a bit times 10**13 is below 2**53 = 9.007e15, times 10**14 it is not
    assert integer_weights(edges(100, "0.12345678901234")) == (10**13, [10**15, 1_234_567_890_123])


def test_random_floats_make_a_graph_whose_distances_are_exact():
    rng = random.Random(1)
    lengths = [rng.random() for _ in range(1000)]
    graph = Graph.from_edges((node, node + 1, length) for node, length in enumerate(lengths))
    assert int(graph.weights.sum()) // 2 < 2**53
    found = [weight / graph.scale for _, _, weight in graph.edges()]
    assert found == pytest.approx(lengths, rel=1e-6)


@pytest.mark.parametrize(
    ("weights", "problem", "line"),
    [
        ((1, 5e-324), "the weight 5e-324 needs more than the 15 decimal places", 2),
        (("1e12", "0.0001"), "the weight 0.0001 needs more than the 3 decimal places", 2),
        ((1, 2**53, 5), "too large for exact distances; the largest is 9007199254740992", 2),
    ],
)
def test_a_weight_that_would_be_lost_is_named_with_its_line(weights, problem, line):
    with pytest.raises(InputError, match=problem) as raised:
        integer_weights(edges(*weights))
    assert raised.value.line == line
