import random
from decimal import Decimal
from fractions import Fraction

import pytest

from cbnet.errors import FileError, InputError
from cbnet.topology import Graph
from cbnet.topology.edges import Edge, EdgeSet, Relation, canonical_name, exact_weight, integer_weights


@pytest.mark.parametrize(
    ("given", "name"),
    [("12", 12), ("0", 0), ("-3", -3), (7, 7), ("012", "012"), ("-0", "-0"), ("1.0", "1.0"), ("a b", "a b")],
)
def test_a_text_that_is_a_whole_number_is_that_number(given, name):
    assert canonical_name(given) == name
    assert type(canonical_name(given)) is type(name)


@pytest.mark.parametrize("name", ["", None, 1.5, True])
def test_other_names_are_refused(name):
    with pytest.raises(InputError, match="a string or an integer"):
        canonical_name(name)


@pytest.mark.parametrize(
    ("given", "exact"),
    [
        (3, 3), ("3", 3), ("0.1", Fraction(1, 10)), (0.1, Fraction(1, 10)), (Decimal("2.50"), Fraction(5, 2)),
        (Fraction(1, 8), Fraction(1, 8)), ("1e3", 1000), (".5", Fraction(1, 2)), ("5.", 5), (1e-7, Fraction(1, 10**7)),
        (5e-324, Fraction(5, 10**324)), ("0." + 30 * "3", Fraction(int(30 * "3"), 10**30)),
    ],
)  # fmt: skip
def test_a_weight_is_the_number_that_it_is_printed_as(given, exact):
    assert exact_weight(given) == exact


@pytest.mark.parametrize("weight", ["x", "1/2", "nan", float("inf"), "1e999999999", True, None, "1_0", "٣"])
def test_a_weight_that_is_no_number_is_refused(weight):
    with pytest.raises(InputError, match="is not a number"):
        exact_weight(weight)


def test_an_empty_weight_is_called_so():
    with pytest.raises(InputError, match="the weight is empty"):
        exact_weight("")


@pytest.mark.parametrize("weight", [0, -1, "-0.5", "0.0", -0.0])
def test_a_weight_must_be_positive(weight):
    with pytest.raises(InputError, match="is not greater than 0"):
        exact_weight(weight)


def test_an_edge_said_again_is_dropped_and_counted():
    edges = EdgeSet()
    edges.add("a", "b", "2.0")
    edges.add("b", "a", 2)
    edges.add("a", "b", 2.0)
    edges.check()
    assert (len(edges.by_ends), edges.repeated) == (1, 2)


def test_a_relation_said_again_from_the_other_end_is_the_same():
    edges = EdgeSet()
    edges.add(1, 2, relation=Relation.CUSTOMER)
    edges.add(2, 1, relation=Relation.PROVIDER)
    edges.check()
    assert edges.repeated == 1


@pytest.mark.parametrize(
    ("again", "what"),
    [({"weight": 3}, "weight in line 1"), ({"relation": Relation.CUSTOMER}, "relation in line 1")],
)
def test_an_edge_said_again_otherwise_is_a_mistake(again, what):
    edges = EdgeSet("f.txt")
    edges.add(1, 2, relation=Relation.PEER, line=1)
    edges.add(2, 1, **{"relation": Relation.PEER, "line": 7, **again})
    with pytest.raises(FileError, match=rf"f\.txt:7: the edge between 2 and 1 has another {what}"):
        edges.check()


def test_the_mistakes_of_a_file_come_together_in_its_order():
    edges = EdgeSet("f.txt")
    edges.add("a", "a", line=5)
    edges.add("a", "b", -1, line=2)
    with pytest.raises(FileError) as raised:
        edges.check()
    assert [error.location for error in raised.value.errors] == ["f.txt:2", "f.txt:5"]


def test_only_the_first_mistakes_of_a_file_are_shown():
    edges = EdgeSet("f.txt")
    for line in range(1, 1001):
        edges.add("a", "a", line=line)
    with pytest.raises(FileError) as raised:
        edges.check()
    assert [error.line for error in raised.value.errors] == [*range(1, 21), None]
    assert raised.value.errors[-1].problem == "980 more mistakes"


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
