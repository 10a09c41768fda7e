"""Worked examples of the papers, and the statements behind them on larger networks.

Claims of `claims.toml` name these tests, and tests of the product. The small networks of [2006] and [2014] were built to
fit the text and cannot contradict it, so the statements behind their figures are checked on generated networks too.
"""

import numpy as np
import pytest

from cbnet.language import Message, parse, size
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.matching import Table, reference
from cbnet.matching.engines.registry import ENGINES
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet.routing import Network, deliver, judge
from cbnet.routing.multitree.multitree import MultiTree
from cbnet.routing.multitree.tree_sides import lengths_on_tree
from cbnet.routing.schemes.drp import Drp
from cbnet.routing.schemes.pif import Pif
from cbnet.routing.schemes.unicast import ReplacedHops, ShortestPaths
from cbnet.routing.sizing.predicate_fibs import PredicateFibs
from cbnet.topology import Graph, distances, shortest_path_tree, topology
from cbnet_lab.workload import Forwarding2002, filters

HIGHWAY = 'alert = "congestion" and severity > 2 or alert = "accident"'
FLIGHT = 'dest = "MXP" and price < 500'


def every_answer(text, message):
    """Return the answers of every engine and of the reference."""
    predicates = {0: parse(text)}
    engines = {bool(Table.build(predicates, engine=engine).match(message)) for engine in ENGINES}
    return engines | {bool(reference.match(predicates, Message(message)))}


def test_highway_predicate_matches_with_every_engine():  # [2006 §2]
    assert size(parse(HIGHWAY)) == 3
    assert every_answer(HIGHWAY, {"alert": "congestion", "severity": 3, "location": "highway1"}) == {True}


def test_flight_of_the_paper_is_too_expensive():  # [2002 §2], which says that it matches
    message = {"carrier": "UA", "dest": "MXP", "price": 600, "upgradeable": True}
    assert every_answer(FLIGHT, message) == {False}
    assert every_answer(FLIGHT, message | {"price": 499}) == {True}


@pytest.mark.parametrize(("interfaces", "f_h"), [(20, 10), (200, 100), (2000, 10), (2000, 100)])
def test_built_tables_have_the_sizes_of_the_formulas(interfaces, f_h):  # [2002 §5.1]
    built = columns_from_arrow(filters(Forwarding2002(I=interfaces, f_h=f_h)))
    about = interfaces * f_h / 2, interfaces * f_h / 2 * 5  # of 1 to 9 constraints, 5 on average
    # the variance of 1 … n is (n² - 1) / 12; of 1 … 9 constraints 80 / 12
    of_filters = interfaces * ((f_h - 1) ** 2 - 1) / 12
    errors = of_filters**0.5, (25 * of_filters + about[0] * 80 / 12) ** 0.5
    for counted, expected, error in zip((len(built), len(built.words)), about, errors, strict=True):
        assert abs(counted - expected) <= max(0.01 * expected, 4 * error)


@pytest.fixture(scope="module", params=["aslike:60", "powerlaw:60"])
def larger(request):
    """A generated network whose nodes are interested in their own names."""
    graph = topology(request.param, 0, largest=True)
    return Network(graph, {u: f'#"{graph.name(u)}"' for u in range(len(graph))})


@pytest.fixture
def sent(larger):
    """100 messages with their sources, each for 10 random nodes."""
    rng, graph = np.random.default_rng(0), larger.graph
    drawn = (rng.permutation(len(graph))[:11].tolist() for _ in range(100))
    return [(source, Message(tags=[str(graph.name(u)) for u in to])) for source, *to in drawn]


def test_nodes_behind_a_link_are_those_whose_path_crosses_it(larger):  # [2006 §3.1]
    rng = np.random.default_rng(0)
    links = [(u, v, int(rng.integers(1, 1 << 40))) for u, v, _ in larger.graph.edges()]  # shortest paths are unique
    graph = Graph.from_edges(links)
    lengths = distances(graph, range(len(graph)))
    for v in range(0, len(graph), 3):
        tree = shortest_path_tree(graph, v)
        for u in range(len(graph)):
            for w in graph.neighbours(u).tolist():
                crossed = np.flatnonzero(lengths[v, u] + graph.weight(u, w) + lengths[w] == lengths[v])
                behind = tree.descendants(w).tolist() if tree.parents[w] == u else []
                assert sorted(behind) == crossed.tolist()


def test_pif_sends_spurious_packets(larger, sent):  # [2006 §3.3]
    verdicts = [judge(larger, deliver(Pif(larger), source, message)) for source, message in sent]
    assert sum(each.spurious for each in verdicts) >= 0.01 * sum(each.packets for each in verdicts)


def test_headers_of_each_next_hop_are_shorter_than_common_ones(larger, sent):  # [2006 §3.4]
    own, common = (
        sum(deliver(Drp(larger, partition=partition), source, message).header_bytes for source, message in sent)
        for partition in (False, True)
    )
    assert own < common


def test_tied_next_hops_send_a_message_twice(larger, sent):  # [2006 §3.4]
    rng, graph = np.random.default_rng(0), larger.graph
    lengths = distances(graph, range(len(graph)))

    def shortest(u, x):
        """Return the neighbours of u on a shortest path to x."""
        return [w for w in graph.neighbours(u).tolist() if graph.weight(u, w) + lengths[w, x] == lengths[u, x]]

    nodes = range(len(graph))
    hops = {(u, x): int(rng.choice(shortest(u, x))) for u in nodes for x in nodes if u != x}
    drp = Drp(larger, ReplacedHops(ShortestPaths(larger), hops))
    assert any(judge(larger, deliver(drp, source, message)).duplicates for source, message in sent)


@pytest.fixture(scope="module")
def two_trees(larger):
    """Two random trees over routers that have one descriptor each, their name."""
    graph = larger.graph
    predicates = {u: Predicate([Filter(tags=[str(graph.name(u))])]) for u in range(len(graph))}
    roots = np.random.default_rng(0).permutation(len(graph))[:2].tolist()
    return MultiTree(Network(graph, predicates), roots)


def test_ends_of_some_link_are_far_apart_on_a_tree(two_trees):  # [2014 §3.1]
    graph = two_trees.network.graph
    hops = [int(lengths_on_tree(two_trees.trees[0], u, np.array([v], np.int32))[0]) for u, v, _ in graph.edges()]
    assert max(hops) >= 4 * graph.scale


def test_folding_saves_terms(two_trees):  # [2014 §3.2.3]
    entries = [PredicateFibs(two_trees).entries(u) for u in np.flatnonzero(two_trees.network.graph.degrees > 1)[:10]]
    assert sum(each.folded for each in entries) < sum(each.per_tree for each in entries)
