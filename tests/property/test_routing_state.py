"""Laws of router state: tables, classes of sources, rewriting and memory, against their definitions."""

from itertools import combinations
from math import log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.networks import UNIVERSE, below, graphs, indistinguishable, networks, trees, via
from support.strategies import messages_near, predicates

from cbnet.language import reduce
from cbnet.language.predicate import Predicate
from cbnet.matching import Table, reference
from cbnet.routing import SCHEMES, Network, deliver, scheme
from cbnet.routing.interests import Interests, filter_words, set_bits
from cbnet.routing.schemes.ips import Rewriting, class_of, classes_at
from cbnet.topology import bridges


def words(predicate):
    return sum(map(filter_words, predicate.filters))


def disjunction(network, receivers):
    return Predicate(filter for x in receivers for filter in network.predicates[x].filters)


def behind(network, v, u, w):
    return via(network, v, u, w) & network.predicates.keys()


# --- interests


@st.composite
def interests_and_messages(draw):
    """Return predicates of some receivers, and messages near their constants."""
    owned = draw(st.lists(predicates(), min_size=1, max_size=6))
    filters = [filter for predicate in owned for filter in predicate.filters]
    return dict(enumerate(owned)), draw(st.lists(messages_near(*filters), max_size=4))


@settings(max_examples=30)
@given(interests_and_messages(), st.data())
def test_a_disjunction_is_reduced_as_the_language_reduces_it(case, data):
    owned, messages = case
    interests = Interests(owned)
    chosen = data.draw(st.sets(st.sampled_from(sorted(owned))))
    bits = interests.disjunction(map(interests.of, sorted(chosen)))
    plain = Predicate(filter for x in sorted(chosen) for filter in owned[x].filters)
    assert interests.words(bits) == words(reduce(plain)) == words(interests.predicate(bits))
    for message in messages:
        assert interests.predicate(bits).matches(message) == plain.matches(message)
        assert bool(bits & interests.matched(message)) == plain.matches(message)


@settings(max_examples=30)
@given(interests_and_messages())
def test_interested_receivers_are_those_whose_predicates_match(case):
    owned, messages = case
    interests = Interests(owned)
    for message in messages:
        assert interests.interested(message) == set(reference.match(owned, message))


@given(st.sets(st.integers(0, 200)))
def test_set_bits_are_the_numbers_of_the_bits(chosen):
    assert list(set_bits(sum(1 << bit for bit in chosen))) == sorted(chosen)


# --- tables


def tables(network):
    """Yield every forwarding table of PSF, iPS and PIF, with the receivers behind each neighbour by definition."""
    neighbours = {u: network.graph.neighbours(u).tolist() for u in range(len(network))}
    for u, around in neighbours.items():
        for v in network.senders:
            own = {w: behind(network, v, u, w) for w in around}
            yield scheme("psf")(network).router(u).table(v), own
            yield scheme("ips")(network).router(u).table(v), own
        every = {w: set().union(*(behind(network, v, u, w) for v in range(len(network)))) for w in around}
        yield scheme("pif")(network).router(u).table, every


@settings(max_examples=20)
@given(networks(graphs(max_nodes=7)))
def test_the_tables_of_psf_ips_and_pif_are_what_the_paper_defines(network):
    for table, expected in tables(network):
        non_empty = {w: behind_w for w, behind_w in expected.items() if behind_w}
        assert {w: set(behind_w) for w, behind_w in table.receivers.items()} == non_empty
        predicates = {w: disjunction(network, behind_w) for w, behind_w in non_empty.items()}
        for message in UNIVERSE:
            assert table.match(message) == reference.match(dict(sorted(predicates.items())), message)
        assert table.state().words == sum(words(reduce(predicate)) for predicate in predicates.values())


@settings(max_examples=20)
@given(networks(graphs(max_nodes=6)))
def test_a_forwarding_table_matches_like_a_compiled_table_of_its_predicates(network):
    for u in range(len(network)):
        table = scheme("pif")(network).router(u).table
        compiled = Table.build({w: table[w] for w in table})
        assert all(table.match(message) == compiled.match(message) for message in UNIVERSE)


# --- classes of sources


@settings(max_examples=30)
@given(graphs())
def test_classes_are_the_indistinguishable_sources_by_definition(graph):
    network = Network(graph, {})
    for u in range(len(graph)):
        for v1, v2 in combinations(range(len(graph)), 2):
            same = class_of(network.tree(v1), u) == class_of(network.tree(v2), u)
            assert same == indistinguishable(network, v1, v2, u)


@settings(max_examples=30)
@given(graphs())
def test_classes_at_routers_are_a_partition_of_the_sources(graph):
    network = Network(graph, {})
    for u, classes in classes_at(graph, range(len(graph)), range(len(graph))).items():
        assert sorted(v for each in classes for v in each) == list(range(len(graph)))
        keys = [{class_of(network.tree(v), u) for v in each} for each in classes]
        assert [len(own) for own in keys] == [1] * len(classes)
        assert len(set.union(*keys)) == len(classes)


@settings(max_examples=30)
@given(graphs())
def test_sources_on_one_side_of_a_bridge_are_one_class_on_the_other(graph):
    network = Network(graph, {})
    for a, b in bridges(graph):
        side = below(network.tree(int(a)), int(b))
        for here, there in ((side, set(range(len(graph))) - side), (set(range(len(graph))) - side, side)):
            for u in there:
                assert len({class_of(network.tree(v), u) for v in here}) == 1


@settings(max_examples=30)
@given(graphs())
def test_headers_are_rewritten_exactly_where_no_node_below_can_tell_the_difference(graph):
    network = Network(graph, {})
    rewriting = Rewriting(network)
    for u in range(len(graph)):
        for v in range(len(graph)):
            own_class = [x for x in range(len(graph)) if indistinguishable(network, x, v, u)]
            expected = all(
                indistinguishable(network, x, v, w) for w in below(network.tree(v), u) - {u} for x in (u, *own_class)
            )
            assert rewriting.rewrites(v, u) == expected


@settings(max_examples=30)
@given(graphs(trees()))
def test_on_a_tree_the_classes_are_the_sides_of_the_neighbours_and_the_router_itself(graph):
    network = Network(graph, dict.fromkeys(range(len(graph)), "true"))
    built = scheme("ips")(network)
    classes = classes_at(graph, range(len(graph)), range(len(graph)))
    for u in range(len(graph)):
        sides = [below(network.tree(u), w) for w in graph.neighbours(u).tolist()]
        assert {frozenset(each) for each in classes[u]} == {frozenset(side) for side in (*sides, {u})}
        assert all(Rewriting(network).rewrites(v, u) for v in range(len(graph)))
        router = built.router(u)
        arriving = router.representatives()
        assert arriving == {v: v for v in arriving}  # I_u is the identity …
        assert arriving.keys() <= {u, *graph.neighbours(u).tolist()}  # … of neighbours and the router itself
        assert router.state().flags == 0


@settings(max_examples=30)
@given(graphs())
def test_i_maps_the_headers_that_really_arrive_and_costs_two_identifiers_where_it_is_not_the_identity(graph):
    network = Network(graph, dict.fromkeys(range(len(graph)), "true"))
    built = scheme("ips")(network)
    arriving = {u: {u} for u in range(len(graph))}
    for source in network.senders:
        delivery = deliver(built, source, UNIVERSE[0])
        forwarding = {packet.sender for packet in delivery.packets}
        for packet in delivery.packets:
            if packet.receiver in forwarding:
                arriving[packet.receiver].add(packet.header)
    for u, headers in arriving.items():
        router = built.router(u)
        mapped = router.representatives()
        assert mapped.keys() == headers
        assert all(
            indistinguishable(network, v, other, u) == (mapped[v] == mapped[other]) for v in mapped for other in mapped
        )
        classes = set(mapped.values())
        entries = sum(len(router.table(v)) for v in classes)
        assert router.state().identifiers == 1 + 2 * (len(mapped) - len(classes)) + len(classes) + entries


# --- memory


@settings(max_examples=30)
@given(networks())
def test_psf_without_reduction_stores_every_predicate_once_per_hop(network):
    hops = {(v, x): len(network.tree(v).path(x)) - 1 for v in network.senders for x in network.predicates}
    state = scheme("psf")(network).state()
    assert state.unreduced_predicates == sum(hops.values())
    assert state.unreduced_words == sum(words(network.predicates[x]) * hop for (_, x), hop in hops.items())
    bits = 64 * state.unreduced_words + len(network.senders) * log2(len(network))
    assert scheme("psf")(network).formula() == pytest.approx(bits)


@settings(max_examples=30)
@given(networks())
def test_reduction_never_adds_words_and_ips_never_stores_more_predicates_than_psf(network):
    states = {name: scheme(name)(network).state() for name in SCHEMES}
    assert all(state.words <= state.unreduced_words for state in states.values())
    assert states["ips"].unreduced_predicates <= states["psf"].unreduced_predicates
    assert states["ips"].words <= states["psf"].words


@settings(max_examples=30)
@given(networks())
def test_pif_and_drp_store_what_their_definitions_require(network):
    n, r, s = len(network), len(network.receivers), len(network.senders)
    pif = scheme("pif")(network).state()
    assert pif.unreduced_predicates == r * (n - 1)  # every receiver at every other router
    inner = sum(len(set(network.tree(v).parents.tolist()) - {-1}) for v in network.senders)
    edges = sum(
        len({network.tree(u).path(x)[1] for x in network.predicates if x != u}) for u in range(n)
    )  # neighbours that lead to receivers
    assert pif.identifiers == s + s * (n - 1) + inner + edges
    drp = scheme("drp")(network).state()
    assert drp.identifiers == 2 * r * (n - 1) + s * r
    assert drp.words == s * sum(words(reduce(predicate)) for predicate in network.predicates.values())


@settings(max_examples=30)
@given(networks())
def test_a_sample_of_all_routers_estimates_exactly(network):
    everywhere = range(len(network))
    for name in SCHEMES:
        built = scheme(name)(network)
        assert built.state(list(everywhere)) == built.state()
