import sys

import networkx
import numpy as np
import pytest

from cbnet.errors import CbnetError, InputError
from cbnet.topology import Relation, components
from cbnet.topology.generators import GENERATORS, generate


def pairs(text, seed=0):
    return [(u, v) for u, v, _ in generate(text, seed).edges()]


def test_a_ring():
    assert pairs("ring:4") == [(0, 1), (0, 3), (1, 2), (2, 3)]


def test_a_grid_is_numbered_row_by_row():
    # 0 1 2
    # 3 4 5
    assert pairs("grid:2x3") == [(0, 1), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (4, 5)]
    assert pairs("grid:1x3") == [(0, 1), (1, 2)]
    assert pairs("grid:3x1") == [(0, 1), (1, 2)]


def test_a_tree_fills_level_by_level():
    assert pairs("tree:6") == [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]
    assert pairs("tree:4,arity=1") == [(0, 1), (1, 2), (2, 3)]
    assert pairs("tree:4,arity=3") == [(0, 1), (0, 2), (0, 3)]


@pytest.mark.parametrize("text", ["grid:1x1", "tree:1", "random:1"])
def test_a_graph_may_have_one_node(text):
    assert (len(generate(text, 0)), generate(text, 0).edge_count) == (1, 0)


@pytest.mark.parametrize(
    ("n", "degree", "edges"), [(200, None, 400), (51, 3, 76), (20, 19, 190), (9, 2, 9), (3, None, 3)]
)
def test_a_random_graph_has_its_degree(n, degree, edges):
    graph = generate(f"random:{n}" + (f",degree={degree}" if degree else ""), 5)
    assert (len(graph), graph.edge_count, graph.repeated) == (n, edges, 0)


def test_all_further_edges_of_random_graphs_are_equally_likely():
    # 5 nodes, 5 edges: a tree of 4 and one further edge; over many seeds each of the 10 pairs is about as frequent
    counts = np.zeros((5, 5))
    for seed in range(2000):
        for u, v in pairs("random:5,degree=2", seed):
            counts[u, v] += 1
    shares = counts[np.triu_indices(5, 1)] / 2000
    assert shares.sum() == pytest.approx(5)
    assert abs(shares - 0.5).max() < 0.06  # five standard deviations


def test_a_power_law_graph_has_few_large_and_many_small_nodes():
    graph = generate("powerlaw:1000,m=3", 1)
    # a star of 4 nodes, and 996 that join 3 each
    assert graph.edge_count == 3 + 996 * 3
    assert np.median(graph.degrees) <= 4
    # a random graph of this degree has none above 25
    assert graph.degrees.max() > 50


def test_new_nodes_join_by_degree():
    # 0-1, 0-2 and then 3 joins two: 0 has degree 2 of 4, so it is missed only if 1 and 2 are drawn first and second:
    # 1/4 then (2 before 0, of the two that are left) 1/3, twice: 1/6
    joined = sum((0, 3) in pairs("powerlaw:4", seed) for seed in range(3000)) / 3000
    assert joined == pytest.approx(5 / 6, abs=0.035)  # five standard deviations


@pytest.mark.parametrize("text", ["random:60", "powerlaw:60", "aslike:60", "ring:60,weights=9", "aslike:60,weights=9"])
def test_the_seed_makes_the_graph(text):
    assert [*generate(text, 3).edges()] == [*generate(text, 3).edges()]
    assert [*generate(text, 3).edges()] != [*generate(text, 4).edges()]


@pytest.mark.parametrize("kind", GENERATORS)
def test_generated_graphs_are_connected_and_named_from_0(kind):
    for seed in range(5):
        graph = generate(GENERATORS[kind].example, seed)
        assert len(components(graph)) == 1
        assert graph.names == tuple(range(len(graph)))
        assert graph.is_unit


def test_weights_are_whole_and_cover_their_range():
    graph = generate("grid:20x20,weights=3", 0)
    assert (set(graph.weights.tolist()), graph.scale) == ({1, 2, 3}, 1)
    assert pairs("random:50,weights=3", 2) == pairs("random:50", 2)


def test_as_like_graphs_keep_the_relations(monkeypatch):
    made = networkx.Graph([(0, 1, {"type": "peer", "customer": "none"}), (0, 2, {"type": "transit", "customer": "2"}),
                           (1, 2, {"type": "transit", "customer": "1"})])  # fmt: skip
    made.add_edges_from((2, node, {"type": "transit", "customer": str(node)}) for node in range(3, 10))
    monkeypatch.setattr(networkx, "random_internet_as_graph", lambda n, seed: made if (n, seed) else None)
    graph = generate("aslike:10", 0)
    # 0: 1, 2; 1: 0, 2
    assert graph.relations[:4].tolist() == [Relation.PEER, Relation.CUSTOMER, Relation.PEER, Relation.PROVIDER]


def test_without_networkx_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(CbnetError, match=r"aslike needs networkx: pip install networkx"):
        generate("aslike:100", 0)
    assert len(generate("powerlaw:100", 0)) == 100


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ring:2", "at least 3"),
        ("ring:", "is not an integer"),
        ("ring:-3", "is not an integer"),
        ("ring:٣", "is not an integer"),
        ("ring:3x4", "is not a valid size"),
        ("grid:4", "is not a valid size"),
        ("grid:4x", "is not an integer"),
        ("tree:4,arity=0", "is not an integer"),
        ("tree:4,arity", "is not an integer"),
        ("tree:4,m=2", "no option 'm'"),
        ("tree:4,arity=2,arity=2", "no option 'arity'"),
        ("tree:4,", "no option ''"),
        ("random:9,degree=1", "use a degree from 2 to 8"),
        ("random:9,degree=9", "use a degree from 2 to 8"),
        ("random:9,degree=2.5", "is not an integer"),
        ("powerlaw:3,m=3", "use an m from 1 to 2"),
        ("aslike:9", "at least 10"),
        ("ring:1000001", "more than 1,000,000 nodes"),
        ("grid:1001x1000", "more than 1,000,000 nodes"),
        ("random:100000,degree=1000", "more than 5,000,000 edges"),
        ("powerlaw:1000000,m=100", "more than 5,000,000 edges"),
        ("ring:9999999999", "9999999999 is too large"),
        ("tree:9,weights=99999999999", "99999999999 is too large"),
        ("powerlaw:1", "needs at least 2 nodes"),
    ],
)
def test_what_no_graph_can_be_is_refused(text, problem):
    with pytest.raises(InputError, match=problem):
        generate(text, 0)


def test_a_seed_is_not_negative():
    with pytest.raises(InputError, match="at least 0, not -1"):
        generate("ring:12", -1)
