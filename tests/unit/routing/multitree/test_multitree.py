"""The two trees of [2014 Fig. 2], and what a router does with them."""

import pytest
from support.networks import ELEVEN, RING, TWELVE, Named, graph

from cbnet.errors import InputError
from cbnet.language import Message, parse
from cbnet.routing import Network, RouterState, deliver, judge, scheme
from cbnet.routing.multitree.multitree import MultiTree, NotificationHeader
from cbnet.topology import topology

FIGURE_2 = Named(ELEVEN)
ID = FIGURE_2.id


def on_tree(root, **more):
    return MultiTree(FIGURE_2.network, [ID(root)], **more)


def test_neighbours_are_four_hops_apart_on_the_first_tree_and_one_on_the_second():
    message = FIGURE_2.message("j")
    first, second = (deliver(on_tree(root), ID("i"), message) for root in "bi")
    assert [FIGURE_2.graph.name(packet.receiver) for packet in first.packets] == ["e", "b", "f", "j"]
    assert FIGURE_2.packets(second) == {("i", "j")}
    assert judge(FIGURE_2.network, first).stretches == (4.0,)
    assert not judge(FIGURE_2.network, first).is_latency_minimal
    assert judge(FIGURE_2.network, second).is_latency_minimal


def test_the_header_is_the_tree_and_the_last_hop():
    delivery = deliver(on_tree("b"), ID("i"), FIGURE_2.message("j", "h"))
    assert {packet.header for packet in delivery.packets} == {(0, ID(name)) for name in "iebcf"}
    assert all(packet.header.last_hop == packet.sender for packet in delivery.packets)
    assert delivery.header_bytes == 3 * delivery.cost  # a tuple of two small numbers


def test_notification_is_not_sent_back_to_the_last_hop():
    router = on_tree("b").router(ID("b"))
    message = FIGURE_2.message("a", "c", "k")
    hops = {name: FIGURE_2.names(router.fwd(NotificationHeader(0, ID(name)), message)) for name in "cefb"}
    assert hops == {"c": {"e", "f"}, "e": {"c", "f"}, "f": {"c", "e"}, "b": {"c", "e", "f"}}


def test_leaf_stores_one_table_for_all_trees():
    both = MultiTree(FIGURE_2.network, [ID("b"), ID("i")])
    assert both.classes.of(ID("h")) == [0, 0]
    assert both.classes.of(ID("b")) == [0, 1]
    one = on_tree("b")
    assert both.router(ID("h")).state() == one.router(ID("h")).state()
    # 20 terms in 5 entries, the own identifier, and a bit for each tree
    assert both.router(ID("b")).state() == RouterState(
        identifiers=1 + 5, flags=2, words=20, unreduced_words=20, unreduced_predicates=20
    )


def test_redundant_descriptors_of_an_interface_are_dropped():
    path = graph("1-2:1 2-3:1")
    network = Network(path, {1: "#networking and #conference", 2: "#networking"})
    assert MultiTree(network).router(0).fib(0)[1].subscriptions == parse("#networking")


def test_default_root_is_the_node_with_the_most_neighbours():
    twelve = Named(TWELVE)
    built = scheme("multitree")(twelve.network)
    assert twelve.names(built.roots) == {7}  # 10, 6, 4, 8 and 11
    assert built.formula() is None


def test_bad_trees_policies_and_offers_are_refused():
    network = Named(RING).network
    with pytest.raises(InputError, match="a multi-tree network needs a tree; give at least one root"):
        MultiTree(network, [])
    with pytest.raises(InputError, match="a root must be a node from 0 to 3"):
        MultiTree(network, [4])
    with pytest.raises(InputError, match="unknown commit policy 'best'; use one of random, flow, least"):
        MultiTree(network, commit="best")
    with pytest.raises(InputError, match="unknown choice 'best'; use one of nearest, random, least"):
        MultiTree(network, choice="best")
    with pytest.raises(InputError, match="there is no node 9"):
        MultiTree(network, offers={9: "#a"})


# --- commit


def committed(built, u, messages):
    return [built.router(u).init(message).tree for message in messages]


def test_random_policy_uses_all_trees_about_equally():
    built = MultiTree(FIGURE_2.network, [0, 1, 2, 3], seed=1)
    actual = committed(built, 0, [Message()] * 4_000)
    assert all(900 < actual.count(tree) < 1_100 for tree in range(4))  # 1,000 expected, standard deviation 27
    assert actual == committed(MultiTree(FIGURE_2.network, [0, 1, 2, 3], seed=1), 0, [Message()] * 4_000)


def test_flow_stays_on_its_tree_and_flows_use_all_trees():
    built = MultiTree(FIGURE_2.network, [0, 1, 2, 3], commit="flow")
    same = [Message({"price": price}, ["stock"]) for price in range(50)]
    assert len(set(committed(built, 3, same))) == 1
    flows = committed(built, 3, [Message(tags=[f"flow {number}"]) for number in range(200)])
    assert set(flows) == {0, 1, 2, 3}
    by_source = [committed(built, u, same[:1])[0] for u in range(11)]
    assert len(set(by_source)) > 1


def test_least_policy_chooses_the_tree_with_the_least_extra_length():
    network = Network(topology("powerlaw:60", 3), dict.fromkeys(range(0, 60, 7), "true"))
    roots = [0, 20, 59, 31]
    built = MultiTree(network, roots, commit="least")
    singles = [MultiTree(network, [root]) for root in roots]
    for u in range(60):
        extra = []
        for single in singles:
            taken = deliver(single, u, Message()).latencies
            extra.append(sum(taken[x] - int(network.tree(u).distances[x]) for x in network.predicates))
        assert built.router(u).init(Message()).tree == extra.index(min(extra))


def test_least_policy_has_less_extra_length_than_random_trees():
    network = Network(topology("powerlaw:100", 1), dict.fromkeys(range(0, 100, 5), "true"))
    least, random = (MultiTree(network, [5, 50, 70, 90], commit=commit) for commit in ("least", "random"))
    mean = [
        sum(sum(judge(network, deliver(each, u, Message())).stretches) for u in range(100)) for each in (least, random)
    ]
    assert mean[0] < mean[1]
