"""Laws of the schemes: nodes reached and packets sent, over random networks and all their sources and messages."""

from itertools import chain, combinations

import pytest
from hypothesis import given, settings
from support.networks import UNIVERSE, graphs, graphs_without_ties, networks, trees

from cbnet.matching import reference
from cbnet.routing import SCHEMES, deliver, judge, scheme
from cbnet.routing.schemes.drp import Drp
from cbnet.routing.schemes.unicast import OneTree
from cbnet.routing.simulate.verdict import fewest_packets, is_ideal

IN_THE_SOURCE_TREE = ("psf", "ips", "drp")


def deliveries(built):
    """Yield the delivery of every message from every sender."""
    for source in built.network.senders:
        for message in UNIVERSE:
            yield deliver(built, source, message)


def interested(network, message, source):
    """Return who should receive a message, by asking every predicate."""
    return set(reference.match(network.predicates, message)) - {source}


@settings(max_examples=30)
@given(networks())
def test_every_scheme_reaches_all_interested_nodes_and_stops(network):
    for name in SCHEMES:
        for delivery in deliveries(scheme(name)(network)):
            assert not delivery.is_cut
            assert delivery.latencies.keys() >= interested(network, delivery.message, delivery.source)
            assert delivery.cost < len(network)  # so nobody gets it twice


@settings(max_examples=30)
@given(networks())
def test_psf_ips_and_drp_use_the_same_links_without_spurious_packets(network):
    built = [scheme(name)(network) for name in IN_THE_SOURCE_TREE]
    for same in zip(*map(deliveries, built), strict=True):
        assert same[0].edges == same[1].edges == same[2].edges
        verdict = judge(network, same[0])
        assert (verdict.missed, verdict.spurious, verdict.duplicates) == (0, 0, 0)
        assert verdict.is_latency_minimal


@settings(max_examples=20)
@given(networks(graphs_without_ties()))
def test_psf_ips_and_drp_are_ideal_when_shortest_paths_are_unique(network):
    for name in IN_THE_SOURCE_TREE:
        assert all(is_ideal(network, delivery) for delivery in deliveries(scheme(name)(network)))


@settings(max_examples=30)
@given(networks())
def test_the_tree_of_psf_is_a_part_of_that_of_pif_which_is_a_part_of_the_source_tree(network):
    for psf, pif in zip(deliveries(scheme("psf")(network)), deliveries(scheme("pif")(network)), strict=True):
        assert psf.edges <= pif.edges
        assert all(network.tree(pif.source).parents[w] == u for u, w in pif.edges)
        assert judge(network, pif).is_latency_minimal


@settings(max_examples=30)
@given(networks())
def test_drp_along_one_tree_reaches_all_by_longer_paths(network):
    unicast = OneTree(network)
    for delivery in deliveries(Drp(network, unicast)):
        verdict = judge(network, delivery)
        assert verdict.is_correct
        assert (verdict.spurious, verdict.duplicates) == (0, 0)
        assert all(w in (unicast.tree.parents[u], *unicast.tree.children(u)) for u, w in delivery.edges)


@settings(max_examples=30)
@given(networks())
def test_drp_header_lists_exactly_the_remaining_destinations(network):
    for delivery in deliveries(scheme("drp")(network)):
        destinations = interested(network, delivery.message, delivery.source)
        for number, packet in enumerate(delivery.packets):
            assert set(packet.header) == reached_by(delivery, number) & destinations


def reached_by(delivery, number):
    """Return the nodes that a packet and all that it causes reach."""
    caused = [later for later, packet in enumerate(delivery.packets) if packet.cause == number]
    return {delivery.packets[number].receiver}.union(*(reached_by(delivery, later) for later in caused))


@settings(max_examples=30)
@given(networks())
def test_one_header_for_all_next_hops_changes_no_path(network):
    common = deliveries(Drp(network, partition=True))
    for own, shared in zip(deliveries(scheme("drp")(network)), common, strict=True):
        assert own.edges == shared.edges
        for packet in shared.packets:
            groups = dict(packet.header)
            (alone,) = [other.header for other in own.packets if other.receiver == packet.receiver]
            assert groups[packet.receiver] == alone
            everybody = list(chain.from_iterable(groups.values()))
            assert len(everybody) == len(set(everybody))


# --- the exact search, against all subsets of links


@settings(max_examples=20)
@given(networks(graphs(max_nodes=5)))
def test_no_set_of_links_is_smaller_than_that_of_the_exact_search(network):
    for source in network.senders:
        destinations = set(network.predicates) - {source}
        assert fewest_packets(network, source, destinations) == fewest_by_trying(network, source, destinations)


def fewest_by_trying(network, source, destinations):
    links = list(network.graph.edges())
    shortest = network.tree(source).distances
    for count in range(len(links) + 1):
        for chosen in combinations(links, count):
            lengths = lengths_over(chosen, source)
            if all(lengths.get(x) == shortest[x] for x in destinations):
                return count
    pytest.fail("all links together must suffice")


def lengths_over(links, source):
    lengths = {source: 0}
    for _ in links:
        for u, v, weight in [*links, *((v, u, weight) for u, v, weight in links)]:
            if u in lengths and lengths[u] + weight < lengths.get(v, 1 << 60):
                lengths[v] = lengths[u] + weight
    return lengths


@settings(max_examples=25)
@given(networks(graphs(trees())))
def test_on_a_tree_all_schemes_are_ideal(network):
    for name in SCHEMES:
        assert all(is_ideal(network, delivery) for delivery in deliveries(scheme(name)(network)))
