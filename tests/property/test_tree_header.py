"""Laws of the tree in the header: nodes reached, effects of false positives, and their average cost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.networks import UNIVERSE, graphs, networks

from cbnet.matching import reference
from cbnet.routing import deliver, judge, scheme
from cbnet.routing.schemes.tree_header import DirectedLink, TreeHeader, filter_size, has_link, link_filter
from cbnet.routing.simulate.header_cost import Spread

MANY = 200_000  # packets: more than false positives make on nine nodes


def deliveries(built):
    for source in built.network.senders:
        for message in UNIVERSE:
            yield deliver(built, source, message, limit=MANY)


@settings(max_examples=20)
@given(networks(), st.integers(2, 16))
def test_every_interested_node_is_reached_by_a_shortest_path_and_packets_end(network, hashes):
    for delivery in deliveries(TreeHeader(network, hashes=hashes)):
        wanting = set(reference.match(network.predicates, delivery.message)) - {delivery.source}
        verdict = judge(network, delivery)
        assert (verdict.delivered, verdict.missed, verdict.is_cut) == (len(wanting), 0, False)
        assert verdict.is_latency_minimal


@settings(max_examples=20)
@given(networks(), st.integers(2, 16))
def test_all_links_of_the_tree_are_used_and_others_only_as_false_positives(network, hashes):
    built = TreeHeader(network, hashes=hashes)
    for psf, own in zip(deliveries(scheme("psf")(network)), deliveries(built), strict=True):
        assert psf.edges <= own.edges
        tree = built.delivery_tree(own.source, own.message)
        assert {(link.u, link.w) for link in tree} == psf.edges
        for packet in own.packets:
            before = (
                own.packets[packet.cause].header if packet.cause >= 0 else built.router(own.source).init(own.message)
            )
            assert packet.header.left == before.left - 1 >= 0
            assert packet.receiver != before.last_hop
            assert has_link(before.filter, DirectedLink(packet.sender, packet.receiver, before.left), hashes)


@settings(max_examples=20)
@given(networks())
def test_large_filter_has_no_false_positives(network):
    # at most 8 links of 16 bits among 4,096: each false positive has a chance below (1/32)**16, which is 2**-80
    for psf, own in zip(
        deliveries(scheme("psf")(network)), deliveries(TreeHeader(network, hashes=16, bits=4096)), strict=True
    ):
        assert psf.edges == own.edges
        assert own.cost == psf.cost


links = st.builds(DirectedLink, st.integers(0, 99), st.integers(0, 99), st.integers(1, 9))


@given(st.sets(links, max_size=40), st.integers(1, 16), st.none() | st.integers(1, 64))
def test_filter_has_no_false_negatives(chosen, hashes, fixed_size):
    filter = link_filter(chosen, hashes, filter_size(len(chosen), hashes) if fixed_size is None else fixed_size)
    assert all(has_link(filter, link, hashes) for link in chosen)


# --- the prediction, against all paths one by one


def expected(graph, at, last, left, tree, chance):
    """Return the expected packets that a packet causes, which is at a node with so many hops left."""
    total = 0.0
    for w in graph.neighbours(at).tolist() if left else ():
        if w != last:
            taken = 1.0 if DirectedLink(at, w, left) in tree else chance
            total += taken * (1 + expected(graph, w, at, left - 1, tree, chance))
    return total


@settings(max_examples=30)
@given(networks(graphs(max_nodes=6)), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_expected_packets_are_the_sum_over_all_paths(network, chance):
    built, spread = TreeHeader(network), Spread(network.graph)
    for source in network.senders[:2]:
        for message in UNIVERSE[:3]:
            tree = built.delivery_tree(source, message)
            depth = max((link.left for link in tree), default=0)
            by_hand = expected(network.graph, source, source, depth, set(tree), chance)
            assert spread.packets(source, tree, chance) == pytest.approx(by_hand)
            if chance == 0.0:
                assert by_hand == len(tree)
