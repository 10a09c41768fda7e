"""Three domains, and the behaviour of their routers and gateways.

       A                 B             C
    1 ─ 2 ─ 3 ──╫── 4 ─ 5 ──╫── 7 ─ 8      all links have length 1; ╫ is a border
        │           │               │
        └──────╫─── 6               9

The tree between domains grows from 2: it reaches B first at 6, and C at 7.
"""

import pytest
from support.networks import Named

from cbnet.errors import InputError
from cbnet.language import parse
from cbnet.routing import SCHEMES, Network, RouterState, deliver, judge, scheme
from cbnet.routing.multitree.multitree import MultiTree
from cbnet.routing.schemes.domain_trees import Exit
from cbnet.routing.schemes.domains import Domains, DomainsHeader, summary
from cbnet.topology import Graph

NINE = Named("1-2:1 2-3:1 3-4:1 2-6:1 4-5:1 4-6:1 5-7:1 7-8:1 8-9:1")
ID = NINE.id
GROUPS = "AAABBBCCC"


def built(**more):
    return Domains(NINE.network, GROUPS, between=[ID(2)], **more)


def hops(delivery):
    return [(NINE.graph.name(packet.sender), NINE.graph.name(packet.receiver)) for packet in delivery.packets]


def test_domain_is_entered_by_the_link_that_the_root_reaches_first():
    (tree,) = built().between
    exits = {number: tree.exits[number] for number in range(3)}
    assert exits == {
        0: [Exit(ID(2), ID(6), (1, 2))],
        1: [Exit(ID(5), ID(7), (2,)), Exit(ID(6), ID(2), (0,))],
        2: [Exit(ID(7), ID(5), (0, 1))],
    }
    assert NINE.names(built().gateways) == {2, 5, 6, 7}


def test_a_message_crosses_domains_and_is_delivered_once():
    delivery = deliver(built(), ID(1), NINE.message(6, 9))
    assert hops(delivery) == [(1, 2), (2, 6), (6, 4), (4, 5), (5, 7), (7, 8), (8, 9)]
    verdict = judge(NINE.network, delivery)
    assert (verdict.delivered, verdict.missed, verdict.spurious, verdict.duplicates) == (2, 0, 0, 0)


def test_message_without_receivers_stops_at_the_gateways():
    message = NINE.message("nothing")
    assert hops(deliver(built(), ID(3), message)) == [(3, 2)]
    assert hops(deliver(built(), ID(4), message)) == [(4, 5), (4, 6)]  # B has exits on both sides
    assert hops(deliver(built(outside="exact"), ID(4), message)) == []
    assert hops(deliver(built(outside="names"), ID(4), message)) == []  # a tag is kept in a summary


def test_inner_router_stores_one_word_for_the_outside():
    one = built().router(ID(1))
    assert one.inner(0, 0)[ID(2)] == parse("true")
    assert one.state() == RouterState(identifiers=2, words=1, unreduced_words=8, unreduced_predicates=8)
    flat = MultiTree(NINE.network, [ID(2)]).router(ID(1))
    assert flat.state() == RouterState(identifiers=2, words=8, unreduced_words=8, unreduced_predicates=8)


def test_gateway_stores_the_predicates_of_other_domains():
    gateway = built().router(ID(6))
    assert str(gateway.border(0)[ID(2)]) == '#"1" or #"2" or #"3"'
    assert gateway.inner(0, 0)[ID(4)] == parse("true")  # 4 leads to 5, the gateway to C
    assert [*built().router(ID(4)).border(0)] == []


def test_a_gateway_changes_the_tree():
    # B has trees from 4 and from 6, with the same links 4-5 and 4-6: of equally good ones the first is taken
    two = built(roots=[ID(4), ID(6), ID(1), ID(3)], commit="flow")
    assert [len(part.trees) for part in two.parts] == [2, 2, 1]
    entering = DomainsHeader(between=0, inside=1, last_hop=ID(2))
    assert two.router(ID(6)).hdr(entering, ID(4)) == DomainsHeader(between=0, inside=0, last_hop=ID(6))
    staying = DomainsHeader(between=0, inside=1, last_hop=ID(4))
    assert two.router(ID(6)).hdr(staying, ID(4)) == DomainsHeader(between=0, inside=1, last_hop=ID(6))


@pytest.mark.parametrize(("roots", "chosen"), [((4, 2), 1), ((2, 4), 0)])
def test_gateway_chooses_the_tree_with_the_shortest_paths(roots, chosen):
    # behind the border 1╫2 the square 2-3-4-5; 5 is wanted. On the tree from 2 it is one hop from 2; the tree from 4
    # has 4-3, 4-5 and, by the smaller parent, 3-2: three hops
    graph = Graph.from_edges([(1, 2), (2, 3), (3, 4), (4, 5), (5, 2)])
    square = Network(graph, {graph.id(5): "true"})
    two = Domains(square, "WEEEE", map(graph.id, roots), [graph.id(1)])
    delivery = deliver(two, graph.id(1), NINE.message())
    assert [packet.header.inside for packet in delivery.packets] == [0, chosen]
    assert delivery.latencies[graph.id(5)] == 2
    far = deliver(Domains(square, "WEEEE", [graph.id(4)], [graph.id(1)]), graph.id(1), NINE.message())
    assert far.latencies[graph.id(5)] == 4


def test_domains_scheme_is_available_by_name():
    network = NINE.network
    default = scheme("domains")(network)
    assert default.name == "domains"
    assert len(default.parts) == 3  # √9
    assert default.formula() is None
    assert "domains" not in SCHEMES  # these a live router drives


def test_bad_domains_are_refused():
    with pytest.raises(InputError, match="2 domains for 9 nodes"):
        Domains(NINE.network, "AB")
    with pytest.raises(
        InputError, match="the domain A is not connected: it has no path from 1 to 9; split it into two"
    ):
        Domains(NINE.network, "AABBBBCCA")
    with pytest.raises(InputError, match="there is no tree between domains; give at least one root"):
        Domains(NINE.network, GROUPS, between=[])
    with pytest.raises(InputError, match="a root must be a node from 0 to 8"):
        Domains(NINE.network, GROUPS, [9])
    with pytest.raises(InputError, match="unknown summary 'some'; use one of exact, names, all"):
        built(outside="some")


WANTED = parse("x > 3 and #a or y = 1 and x = 2 and x < 9")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("exact", "x > 3 and #a or y = 1 and x = 2 and x < 9"), ("names", "exists x and #a or exists x and exists y"),
     ("all", "true")],
)  # fmt: skip
def test_summaries_have_the_documented_forms(name, expected):
    assert summary(name)(WANTED) == parse(expected)
    assert summary(name)(parse("false")) == parse("false")
