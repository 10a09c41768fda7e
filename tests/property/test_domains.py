"""Laws of domains: nodes reached, links used, and state of routers, over random networks and groups."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.networks import UNIVERSE, graphs, networks
from support.strategies import messages_near, predicates

from cbnet.language import Predicate, covers
from cbnet.matching import reference
from cbnet.routing import deliver, judge
from cbnet.routing.multitree.multitree import MultiTree
from cbnet.routing.multitree.policies import COMMIT_POLICIES
from cbnet.routing.schemes.domains import SUMMARIES, Domains, summary
from cbnet.topology import shortest_path_tree
from cbnet.topology.domains import grow_domains, validate_domains


@st.composite
def groups(draw, graph):
    """Return a group for each node: what hangs together by some of the links."""
    group = list(range(len(graph)))
    for u, v, _ in graph.edges():
        if draw(st.booleans()):
            group = [group[u] if each == group[v] else each for each in group]
    return group


@st.composite
def domain_schemes(draw, outside=None):
    """Return a scheme over random domains, with up to three trees of each kind."""
    network = draw(networks())
    roots = st.lists(st.integers(0, len(network) - 1), min_size=1, max_size=3)
    return Domains(
        network,
        draw(groups(network.graph)),
        draw(st.none() | roots),
        draw(st.none() | roots),
        outside=draw(st.sampled_from(SUMMARIES)) if outside is None else outside,
        commit=draw(st.sampled_from(COMMIT_POLICIES)),
        seed=draw(st.integers(0, 3)),
    )


def deliveries(built):
    for source in built.network.senders:
        for message in UNIVERSE:
            yield deliver(built, source, message)


def links_between(built, between):
    return [(exit.gateway, exit.neighbour) for part in built.parts for exit in part.exits[between]]


def links_inside(part, tree):
    parents = part.trees[tree].parents.tolist()
    return [(int(part.members[x]), int(part.members[p])) for x, p in enumerate(parents) if p >= 0]


def spanning(built, between):
    """Return all links of a tree between domains and of the first tree inside each, once."""
    inside = [link for part in built.parts for link in links_inside(part, 0)]
    return {frozenset(link) for link in [*links_between(built, between), *inside]}


def side(links, u, w):
    """Return the nodes on the side of w when the link between u and w is cut."""
    reached, queue = {w}, [w]
    for x in queue:  # grows during the loop
        for link in links - {frozenset((u, w))}:
            if x in link:
                (y,) = link - {x}
                if y not in reached:
                    reached.add(y)
                    queue.append(y)
    return reached


@settings(max_examples=25)
@given(domain_schemes())
def test_every_interested_node_is_reached_once_as_in_the_flat_network(built):
    network = built.network
    flat = MultiTree(network)
    for delivery in deliveries(built):
        wanting = set(reference.match(network.predicates, delivery.message)) - {delivery.source}
        verdict = judge(network, delivery)
        assert (verdict.delivered, verdict.missed) == (len(wanting), 0)
        assert (verdict.duplicates, verdict.is_cut) == (0, False)
        same = deliver(flat, delivery.source, delivery.message)
        assert wanting & delivery.latencies.keys() == wanting & same.latencies.keys()


@settings(max_examples=25)
@given(domain_schemes())
def test_no_spurious_packet_crosses_a_border(built):
    for delivery in deliveries(built):
        wanting = set(reference.match(built.network.predicates, delivery.message)) - {delivery.source}
        for number, packet in enumerate(delivery.packets):
            if built.domains[packet.sender] != built.domains[packet.receiver]:
                assert reached_by(delivery, number) & wanting


def reached_by(delivery, number):
    """Return the nodes that a packet and all that it causes reach."""
    caused = [later for later, packet in enumerate(delivery.packets) if packet.cause == number]
    return {delivery.packets[number].receiver}.union(*(reached_by(delivery, later) for later in caused))


@settings(max_examples=20)
@given(domain_schemes(outside="exact"))
def test_exact_summary_causes_no_spurious_packet(built):
    assert all(judge(built.network, delivery).spurious == 0 for delivery in deliveries(built))


@settings(max_examples=20)
@given(domain_schemes())
def test_a_message_stays_on_one_tree_between_domains_and_on_one_inside_each(built):
    for delivery in deliveries(built):
        trees = {}
        for packet in delivery.packets:
            own, other = built.domains[packet.sender], built.domains[packet.receiver]
            header = packet.header
            assert trees.setdefault(own, header.inside) == header.inside
            assert trees.setdefault("between", header.between) == header.between
            link = packet.sender, packet.receiver
            if own == other:
                assert {link, link[::-1]} & {*links_inside(built.parts[own], header.inside)}
            else:
                assert link in links_between(built, header.between)
                assert other not in trees  # a domain is entered once
                trees.setdefault(other, tree_after(delivery, packet))


def tree_after(delivery, entering):
    """Return the tree on which a message goes on in a domain that it enters; None if it goes no farther."""
    number = delivery.packets.index(entering)
    after = [each.header.inside for each in delivery.packets if each.cause == number]
    return after[0] if after else None


@settings(max_examples=25)
@given(domain_schemes())
def test_router_stores_its_domain_exactly_and_the_outside_as_a_summary(built):
    receivers = built.network.predicates.keys()
    for between in range(len(built.between)):
        links = spanning(built, between)
        assert len(links) == len(built.network) - 1
        for u in range(len(built.network)):
            own = {x for x in range(len(built.network)) if built.domains[x] == built.domains[u]}
            part = built.parts[built.domains[u]]
            expected = {w: side(links, u, w) & receivers for link in links if u in link for w in link - {u}}
            expected = {w: behind for w, behind in expected.items() if behind}
            behind = part.behind(u, between, 0)
            assert {w: (set(each.inside), set(each.outside)) for w, each in behind.items()} == {
                w: (behind & own, behind - own) for w, behind in expected.items() if w in own
            }
            across = part.across(u, between)
            assert {w: set(beyond) for w, beyond in across.items()} == {
                w: behind for w, behind in expected.items() if w not in own
            }


@settings(max_examples=20)
@given(graphs(), st.data())
def test_a_domain_is_entered_where_it_is_nearest_to_the_root(graph, data):
    network = data.draw(networks(st.just(graph)))
    root = data.draw(st.integers(0, len(graph) - 1))
    built = Domains(network, data.draw(groups(graph)), between=[root])
    distances = shortest_path_tree(graph, root).distances
    for number, part in enumerate(built.parts):
        if number == built.domains[root]:
            continue
        [entry] = [exit.gateway for exit in part.exits[0] if distances[exit.gateway] > distances[exit.neighbour]]
        assert distances[entry] == min(distances[part.members])


@settings(max_examples=20)
@given(networks(), st.data())
def test_one_domain_is_the_flat_network(network, data):
    roots = data.draw(st.lists(st.integers(0, len(network) - 1), min_size=1, max_size=3))
    commit = data.draw(st.sampled_from(COMMIT_POLICIES))
    one = Domains(network, [0] * len(network), roots, roots, commit=commit)
    flat = MultiTree(network, roots, commit=commit)
    for own, other in zip(deliveries(one), deliveries(flat), strict=True):
        assert [packet[:3] for packet in own.packets] == [packet[:3] for packet in other.packets]
    assert one.state() == flat.state()
    assert not one.gateways


@settings(max_examples=30)
@given(domain_schemes())
def test_a_sample_of_all_routers_estimates_the_state_exactly(built):
    assert built.state(range(len(built.network))) == built.state()


@settings(max_examples=30)
@given(domain_schemes(outside="exact"))
def test_the_widest_summary_needs_the_fewest_words(built):
    roots = [int(part.members[tree.root]) for part in built.parts for tree in part.trees]
    between = [tree.tree.root for tree in built.between]
    widest = Domains(built.network, built.domains.tolist(), roots, between, outside="all")
    assert widest.state().words <= built.state().words


@settings(max_examples=40)
@given(predicates(), st.data())
def test_summary_covers_its_predicate(predicate, data):
    message = data.draw(messages_near(*predicate.filters))
    for name in SUMMARIES:
        summed = summary(name)(predicate)
        assert covers(summed, predicate)
        assert summed.matches(message) or not predicate.matches(message)
        assert (summed == Predicate()) == (predicate == Predicate())


@settings(max_examples=25)
@given(graphs(), st.data())
def test_grown_domains_are_connected_around_distinct_centres(graph, data):
    count = data.draw(st.integers(1, len(graph)))
    domains = grow_domains(graph, count)
    assert sorted(set(domains.tolist())) == list(range(count))
    checked = validate_domains(graph, domains.tolist())
    assert all(len(set(checked[domains == number].tolist())) == 1 for number in range(count))
    assert domains[int(np.argmax(graph.degrees))] == 0
