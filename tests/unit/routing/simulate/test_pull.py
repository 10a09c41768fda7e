"""Requests and their replies on trees."""

from collections import Counter

import pytest
from support.networks import ELEVEN, Named, graph

from cbnet.language import Message, parse_filter
from cbnet.language.roles import request_of
from cbnet.routing import Network
from cbnet.routing.multitree.locators import identifiers, next_hop
from cbnet.routing.multitree.multitree import MultiTree, ReplyHeader, RequestHeader
from cbnet.routing.simulate.pull import pull
from cbnet.topology import shortest_path_tree

FIGURE_2 = Named(ELEVEN, receivers=[])
ID = FIGURE_2.id
OFFERS = {ID("j"): "#video", ID("h"): '#video and city = "Lugano"', ID("a"): "#video and #live"}
ASKED = Message({"city": "Lugano"}, ["video", "live"])  # all three have it


def names(packets):
    return "".join(FIGURE_2.graph.name(packet.receiver) for packet in packets)


def test_a_request_goes_to_the_nearest_holder_and_its_reply_comes_back():
    found = pull(MultiTree(FIGURE_2.network, [ID("b")], offers=OFFERS), ID("k"), ASKED)
    assert names(found.packets) == "fj"  # j is 2 hops away on the tree from b, h 4 and a 5
    assert names(found.reply_packets) == "fk"
    assert (found.holder, found.is_answered, found.is_dropped) == (ID("j"), True, False)


def test_on_another_tree_another_holder_is_the_nearest():
    found = pull(MultiTree(FIGURE_2.network, [ID("d")], offers=OFFERS), ID("d"), ASKED)
    assert names(found.packets) == "a"


def test_the_request_carries_the_locator_of_the_requester_and_the_reply_goes_there():
    built = MultiTree(FIGURE_2.network, [ID("b")], offers=OFFERS)
    found = pull(built, ID("k"), ASKED)
    place = int(built.trees[0].positions[ID("k")])
    assert [packet.header for packet in found.packets] == [
        RequestHeader(0, ID("k"), place),
        RequestHeader(0, ID("f"), place),
    ]
    assert {packet.header for packet in found.reply_packets} == {ReplyHeader(0, place)}


def test_a_node_that_has_what_it_asks_for_asks_nobody():
    found = pull(MultiTree(FIGURE_2.network, [ID("b")], offers=OFFERS), ID("a"), ASKED)
    assert (found.packets, found.reply_packets, found.holder, found.is_answered) == ([], [], ID("a"), True)


def test_what_nobody_offers_goes_nowhere():
    found = pull(MultiTree(FIGURE_2.network, [ID("b")], offers=OFFERS), ID("k"), Message(tags=["audio"]))
    assert (found.packets, found.holder, found.reply, found.is_answered) == ([], None, None, False)


def test_a_subscription_answers_no_request():
    wanting = Network(FIGURE_2.graph, {ID("a"): "#video"})
    assert pull(MultiTree(wanting, [ID("b")]), ID("k"), ASKED).holder is None


def test_a_reply_that_does_not_match_is_dropped():
    built = MultiTree(FIGURE_2.network, [ID("b")], offers=OFFERS)
    found = pull(built, ID("k"), ASKED, lambda _, request: Message(tags=request.tags))  # the city is missing
    assert (found.is_dropped, found.is_answered, found.reply_packets) == (True, False, [])
    more = pull(
        built, ID("k"), ASKED, lambda holder, request: Message({**request.attributes, "by": holder}, request.tags)
    )
    assert (more.is_answered, more.reply.attributes["by"]) == (True, ID("j"))


def test_a_request_is_written_as_a_filter():
    asked = request_of(parse_filter('#video and city = "Lugano"'))
    assert pull(MultiTree(FIGURE_2.network, [ID("b")], offers=OFFERS), ID("c"), asked).holder == ID("h")


STAR = graph("0-1:1 0-2:1 0-3:1 3-4:1")


def holders(choice, count):
    built = MultiTree(Network(STAR, {}), [0], offers={1: "#a", 2: "#a", 4: "#a"}, choice=choice)
    return Counter(pull(built, 0, Message(tags=["a"])).holder for _ in range(count))


def test_policies_choose_the_nearest_any_or_the_least_loaded():
    assert holders("nearest", 300) == {1: 300}  # of 1 and 2 the smaller
    assert holders("least", 300) == {1: 100, 2: 100, 4: 100}
    found = holders("random", 300)
    assert set(found) == {1, 2, 4}
    assert min(found.values()) > 60  # 100 expected, standard deviation 8


def test_a_far_offer_of_everything_does_not_hide_a_near_one():
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


def test_the_nearest_behind_a_neighbour_counts_whatever_comes_first_on_the_tree():
    bush = graph("0-1:1 1-2:10 1-3:1 0-4:5")
    built = MultiTree(Network(bush, {}), [0], offers={2: "#a", 3: "#a", 4: "#a"})
    assert pull(built, 0, Message(tags=["a"])).holder == 3  # at 2; 4 is at 5 and 2 at 11


def test_a_router_keeps_an_interval_for_each_neighbour_and_nothing_for_requests():
    tree = shortest_path_tree(STAR, 0)
    assert [identifiers(tree, u) for u in range(5)] == [2 + 6, 3, 3, 3 + 2, 3]
    built = MultiTree(Network(STAR, {}), [0], offers={1: "#a"})
    before = built.state()
    assert (
        before.identifiers == 5 + (8 + 3 + 3 + 5 + 3) + 2 * 4
    )  # own; intervals; a neighbour and a distance at 0, 2, 3, 4
    for u in range(5):
        pull(built, u, Message(tags=["a"]))
    assert built.state() == before


@pytest.mark.parametrize("place", range(5))
def test_a_locator_leads_to_its_node_from_everywhere(place):
    tree = shortest_path_tree(STAR, 3)
    for u in range(5):
        at, hops = u, 0
        while (hop := next_hop(tree, at, place)) is not None:
            at, hops = hop, hops + 1
            assert hops < 5
        assert tree.positions[at] == place
