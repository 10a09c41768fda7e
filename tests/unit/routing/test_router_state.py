"""The state of routers, counted by hand on the path 1 - 2 - 3, where 3 receives and 1 and 2 send."""

from math import log2

import pytest
from support.networks import graph

from cbnet.routing import Network, RouterState, scheme
from cbnet.routing.router_state import alpha, identifier_bits
from cbnet.routing.schemes.drp import Drp
from cbnet.routing.schemes.unicast import OneTree
from cbnet.topology import topology

PATH = Network(graph("1-2:1 2-3:1"), {2: "x = 1 and y = 2"}, [0, 1])

# Identifiers at 1, 2 and 3; each predicate has 2 words.
COUNTED = {
    # own, source 1, neighbour 2 | own, source 1, neighbour 3, source 2, neighbour 3 | nothing
    "psf": ([3, 5, 0], [2, 4, 0]),
    # the same: 1 and 2 are two classes at 2, and 2 arrives from nowhere else
    "ips": ([3, 5, 0], [2, 4, 0]),
    # own, 1 has child 2, neighbour 2 | own, 1 has child 3, 2 has children 1 and 3, neighbour 3 | nothing
    "pif": ([4, 7, 0], [2, 2, 0]),
    # 3 by 2, and predicate of 3 | 3 by 3, and predicate of 3 | nothing
    "drp": ([3, 3, 0], [2, 2, 0]),
}


@pytest.mark.parametrize("name", COUNTED)
def test_router_state_equals_the_count_by_hand(name):
    built = scheme(name)(PATH)
    states = [built.router(u).state() for u in range(3)]
    identifiers, words = COUNTED[name]
    assert [state.identifiers for state in states] == identifiers
    assert [state.words for state in states] == words
    assert [state.flags for state in states] == [0, 0, 0]
    assert built.state().bits(3) == 2 * sum(identifiers) + 64 * sum(words)


def test_one_tree_needs_less_than_a_table_of_next_hops():
    # 2 is the root: at 1 its position and parent; at 2 its position and three for the child 3; at 3 position and parent.
    assert [OneTree(PATH).identifiers(u) for u in range(3)] == [2, 4, 2]
    network = Network(topology("powerlaw:60", 1), dict.fromkeys(range(60), "x = 1"))
    known = 60 * 60  # at every sender, every receiver
    assert Drp(network, OneTree(network)).state().identifiers == known + 60 + 59 + 3 * 59
    assert Drp(network).state().identifiers == known + 2 * 60 * 59


def test_the_formulas_are_those_of_the_paper():
    bits, senders, receivers, nodes, largest = 2 * 64, 2, 1, 3, 2
    assert scheme("psf")(PATH).formula() == senders * log2(nodes) + bits * (2 + 1)
    assert scheme("ips")(PATH).formula() == nodes * receivers * bits  # on a tree; α of one predicate is 1
    assert scheme("pif")(PATH).formula() == nodes * (senders * largest * log2(nodes) + receivers * bits)
    assert scheme("drp")(PATH).formula() == nodes * receivers * log2(nodes) + senders * receivers * bits


def test_ips_has_no_formula_beyond_trees():
    assert scheme("ips")(Network(topology("ring:5"), {0: "true"})).formula() is None


def test_indistinguishable_sources_share_a_table():
    star = graph("1-2:1 5-2:1 2-3:1 3-4:1")
    network = Network(star, {star.id(4): "x = 1"})
    psf, ips = (scheme(name)(network).router(star.id(2)).state() for name in ("psf", "ips"))
    assert (psf.words, ips.words) == (3, 3)  # from 1, from 5 and from 2: on a tree, neighbours are distinguished
    psf, ips = (scheme(name)(network).router(star.id(3)).state() for name in ("psf", "ips"))
    assert (psf.words, ips.words) == (4, 2)  # from 1, 2, 5 and 3; but the first three all look like 2


def test_the_disjunction_advantage_is_that_of_the_receivers_of_one_interface():
    ring = topology("ring:4")  # two interfaces each, so of 4 receivers 2 are combined
    assert alpha(Network(ring, dict.fromkeys(range(4), "x > 2"))) == 0.5
    assert alpha(Network(ring, {u: f"x = {u}" for u in range(4)})) == 1.0
    assert alpha(Network(ring, {})) == 1.0


def test_empty_filter_takes_one_word():
    assert scheme("drp")(Network(PATH.graph, {2: "true"}, [0])).state().words == 1


def test_bits_are_those_of_identifiers_flags_and_words_together():
    assert (
        RouterState(identifiers=10, flags=3, words=2, unreduced_words=9, unreduced_predicates=9).bits(nodes=12)
        == 10 * 4 + 3 + 2 * 64
    )


def test_identifiers_have_the_bits_to_distinguish_all_nodes():
    assert [identifier_bits(nodes) for nodes in (1, 2, 3, 4, 5, 1024, 1025)] == [0, 1, 2, 2, 3, 10, 11]


def test_a_state_without_predicates_is_not_scaled():
    assert RouterState(identifiers=3, unreduced_words=4).with_words(RouterState()).words == 4
