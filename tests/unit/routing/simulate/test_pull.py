"""Requests and their replies on trees."""

from collections import Counter

import pytest
from support.networks import ELEVEN, Named, graph

from cbnet.language import Message, parse_filter
from cbnet.language.roles import request_of
from cbnet.routing import Network
from cbnet.routing.multitree.multitree import MultiTree, ReplyHeader, RequestHeader, next_hop, stored_identifiers
from cbnet.routing.simulate.pull import pull
from cbnet.topology import shortest_path_tree

FIGURE_2 = Named(ELEVEN, receivers=[])
ID = FIGURE_2.id
OFFERS = {ID("j"): "#video", ID("h"): '#video and city = "Lugano"', ID("a"): "#video and #live"}
REQUEST = Message({"city": "Lugano"}, ["video", "live"])  # all three have it


def names(packets):
    return "".join(FIGURE_2.graph.name(packet.receiver) for packet in packets)


def test_request_reaches_the_nearest_holder_and_its_reply_returns():
    outcome = pull(MultiTree(FIGURE_2.network, [ID("b")], offers=OFFERS), ID("k"), REQUEST)
    assert names(outcome.packets) == "fj"  # j is 2 hops away on the tree from b, h 4 and a 5
    assert names(outcome.reply_packets) == "fk"
    assert (outcome.holder, outcome.is_answered, outcome.is_dropped) == (ID("j"), True, False)


def test_nearest_holder_depends_on_the_tree():
    outcome = pull(MultiTree(FIGURE_2.network, [ID("d")], offers=OFFERS), ID("d"), REQUEST)
    assert names(outcome.packets) == "a"


def test_reply_follows_the_locator_of_the_request():
    built = MultiTree(FIGURE_2.network, [ID("b")], offers=OFFERS)
    outcome = pull(built, ID("k"), REQUEST)
    locator = int(built.trees[0].positions[ID("k")])
    assert [packet.header for packet in outcome.packets] == [
        RequestHeader(0, ID("k"), locator),
        RequestHeader(0, ID("f"), locator),
    ]
    assert {packet.header for packet in outcome.reply_packets} == {ReplyHeader(0, locator)}


def test_requester_that_is_a_holder_sends_no_packet():
    outcome = pull(MultiTree(FIGURE_2.network, [ID("b")], offers=OFFERS), ID("a"), REQUEST)
    assert (outcome.packets, outcome.reply_packets, outcome.holder, outcome.is_answered) == ([], [], ID("a"), True)


def test_request_without_a_matching_offer_is_not_sent():
    outcome = pull(MultiTree(FIGURE_2.network, [ID("b")], offers=OFFERS), ID("k"), Message(tags=["audio"]))
    assert (outcome.packets, outcome.holder, outcome.reply, outcome.is_answered) == ([], None, None, False)


def test_a_subscription_answers_no_request():
    wanting = Network(FIGURE_2.graph, {ID("a"): "#video"})
    assert pull(MultiTree(wanting, [ID("b")]), ID("k"), REQUEST).holder is None


def test_a_reply_that_does_not_match_is_dropped():
    built = MultiTree(FIGURE_2.network, [ID("b")], offers=OFFERS)
    outcome = pull(built, ID("k"), REQUEST, lambda _, request: Message(tags=request.tags))  # the city is missing
    assert (outcome.is_dropped, outcome.is_answered, outcome.reply_packets) == (True, False, [])
    more = pull(
        built, ID("k"), REQUEST, lambda holder, request: Message({**request.attributes, "by": holder}, request.tags)
    )
    assert (more.is_answered, more.reply.attributes["by"]) == (True, ID("j"))


def test_a_request_is_written_as_a_filter():
    request = request_of(parse_filter('#video and city = "Lugano"'))
    assert pull(MultiTree(FIGURE_2.network, [ID("b")], offers=OFFERS), ID("c"), request).holder == ID("h")


STAR = graph("0-1:1 0-2:1 0-3:1 3-4:1")


def holders(choice, count):
    built = MultiTree(Network(STAR, {}), [0], offers={1: "#a", 2: "#a", 4: "#a"}, choice=choice)
    return Counter(pull(built, 0, Message(tags=["a"])).holder for _ in range(count))


def test_policies_choose_the_nearest_a_random_or_the_least_loaded_holder():
    assert holders("nearest", 300) == {1: 300}  # of 1 and 2 the smaller
    assert holders("least", 300) == {1: 100, 2: 100, 4: 100}
    counts = holders("random", 300)
    assert set(counts) == {1, 2, 4}
    assert min(counts.values()) > 60  # 100 expected, standard deviation 8


def test_wide_offer_far_away_does_not_hide_a_near_one():
    path = graph("0-1:1 1-2:1 2-3:1 3-4:1")
    built = MultiTree(Network(path, {}), [2], offers={4: "#a", 0: "true"})
    assert pull(built, 3, Message(tags=["a"])).holder == 4  # 1 hop, the other 3
    assert pull(built, 3, Message(tags=["b"])).holder == 0
    far = MultiTree(Network(path, {}), [2], offers={2: "#a and #b", 3: "#a", 4: "#a and #b and #c"})
    both = Message(tags=["a", "b", "c"])
    assert [pull(far, u, both).holder for u in range(5)] == [2, 2, 2, 3, 4]
    # at 1, behind 2: #a and #b at distance 1, #a at 2; the one at 3 is covered by both
    state = far.router(1)._offers.state()
    assert (state.words, state.unreduced_words, state.unreduced_predicates) == (3, 6, 3)


def test_distance_of_a_neighbour_is_that_of_its_nearest_holder():
    bush = graph("0-1:1 1-2:10 1-3:1 0-4:5")
    built = MultiTree(Network(bush, {}), [0], offers={2: "#a", 3: "#a", 4: "#a"})
    assert pull(built, 0, Message(tags=["a"])).holder == 3  # at 2; 4 is at 5 and 2 at 11


def test_router_stores_an_interval_per_neighbour_and_nothing_per_request():
    tree = shortest_path_tree(STAR, 0)
    assert [stored_identifiers(tree, u) for u in range(5)] == [2 + 6, 3, 3, 3 + 2, 3]
    built = MultiTree(Network(STAR, {}), [0], offers={1: "#a"})
    before = built.state()
    assert (
        before.identifiers == 5 + (8 + 3 + 3 + 5 + 3) + 2 * 4
    )  # own; intervals; a neighbour and a distance at 0, 2, 3, 4
    for u in range(5):
        pull(built, u, Message(tags=["a"]))
    assert built.state() == before


@pytest.mark.parametrize("locator", range(5))
def test_locator_leads_to_its_node_from_every_node(locator):
    tree = shortest_path_tree(STAR, 3)
    for u in range(5):
        at, hops = u, 0
        while (hop := next_hop(tree, at, locator)) is not None:
            at, hops = hop, hops + 1
            assert hops < 5
        assert tree.positions[at] == locator
