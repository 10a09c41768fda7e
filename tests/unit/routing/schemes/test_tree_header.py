import pytest
from support.networks import RING, Named

from cbnet.errors import InputError
from cbnet.routing import SCHEMES, Network, RouterState, deliver, judge, scheme
from cbnet.routing.schemes.tree_header import (
    DirectedLink,
    FilterHeader,
    TreeHeader,
    false_positive,
    filter_size,
    has_link,
    link_filter,
)
from cbnet.topology import topology

LINE = Named("1-2:1 2-3:1 2-4:1 4-5:1")
ID = LINE.id


def test_header_has_the_links_to_all_interested_nodes():
    built = TreeHeader(LINE.network)
    links = built.delivery_tree(ID(1), LINE.message(3, 5))
    # 5 is three hops away: at 1 there are three left, at 2 two, at 4 one
    assert set(links) == {
        DirectedLink(ID(1), ID(2), 3),
        DirectedLink(ID(2), ID(3), 2),
        DirectedLink(ID(2), ID(4), 2),
        DirectedLink(ID(4), ID(5), 1),
    }
    header = built.router(ID(1)).init(LINE.message(3, 5))
    assert (header.left, header.last_hop) == (3, ID(1))
    assert len(header.filter) == 6  # 8 hashes · 4 links / ln 2 are 46.2 bits
    assert all(has_link(header.filter, link, 8) for link in links)
    assert LINE.packets(deliver(built, ID(1), LINE.message(3, 5))) == {(1, 2), (2, 3), (2, 4), (4, 5)}


def test_message_without_receivers_is_not_sent():
    built = TreeHeader(LINE.network, bits=64)
    assert built.router(ID(1)).init(LINE.message("x")).left == 0
    assert deliver(built, ID(1), LINE.message("x", 1)).packets == []  # the source has its own message


class WithoutHops(TreeHeader):
    """A scheme with one id per link for all hops."""

    def link_filter(self, links):
        return super().link_filter([link._replace(left=0) for link in links])

    def contains(self, filter, link):
        return super().contains(filter, link._replace(left=0))


def flooded(built, source, header):
    """Return the number of packets that a header causes."""
    queue, count = [(source, header)], 0
    for u, came in queue:  # grows during the loop
        for w in built.router(u).fwd(came, LINE.message()):
            queue.append((w, built.router(u).hdr(came, w)))
            count += 1
    return count


@pytest.mark.parametrize("kind", [TreeHeader, WithoutHops])
def test_full_filter_sends_no_packet_beyond_the_depth_of_the_tree(kind):
    # round a ring in both directions, never back: two packets at each of seven hops, then the end
    ring = Named(RING).network
    assert flooded(kind(ring), 0, FilterHeader(7, 0, b"\xff")) == 14


def test_packet_that_returns_to_the_tree_does_not_follow_it_again():
    # 0 is the source of a ring of four with 0→1→2→3 in the filter; a false positive took 3→0 with one hop left of five
    ring = Named(RING).network
    links = [DirectedLink(0, 1, 5), DirectedLink(1, 2, 4), DirectedLink(2, 3, 3)]
    came = {}
    for kind in (TreeHeader, WithoutHops):
        built = kind(ring, hashes=16, bits=8000)
        came[kind] = built.router(0).fwd(FilterHeader(1, 3, built.link_filter(links)), LINE.message())
    assert came == {TreeHeader: [], WithoutHops: [1]}


def test_routers_store_links_and_senders_also_predicates_and_their_tree():
    network = Network(LINE.graph, {ID(5): "#a and #b"}, [ID(1)])
    built = TreeHeader(network)
    assert built.router(ID(2)).state() == RouterState(identifiers=4)  # itself, 1, 3 and 4
    # itself and 2; the receiver; the links 1→2, 2→4 and 4→5
    assert built.router(ID(1)).state() == RouterState(
        identifiers=2 + 1 + 6, words=2, unreduced_words=2, unreduced_predicates=1
    )
    assert built.state() == RouterState(
        identifiers=9 + 4 + 2 + 3 + 2, words=2, unreduced_words=2, unreduced_predicates=1
    )
    assert built.formula() is None


def test_the_size_of_the_filter_may_be_fixed():
    network = Network(topology("powerlaw:60", 2), dict.fromkeys(range(0, 60, 3), "true"))
    for bits, is_wasteful in ((64, True), (4096, False)):
        verdict = judge(network, deliver(TreeHeader(network, hashes=5, bits=bits), 1, LINE.message()))
        assert verdict.missed == 0
        assert (verdict.spurious > 0) == is_wasteful
        assert verdict.header_bytes == verdict.packets * (bits // 8 + (5 if bits == 64 else 6))


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"hashes": 0}, "a filter has from 1 to 16 hashes, not 0"),
        ({"hashes": 17}, "a filter has from 1 to 16 hashes, not 17"),
        ({"bits": 0}, "a filter has from 8 to 1,048,576 bits, in whole bytes, not 0"),
        ({"bits": 250}, "in whole bytes, not 250"),
        ({"bits": 1 << 21}, "not 2,097,152"),
    ],
)
def test_impossible_filters_are_refused(more, problem):
    with pytest.raises(InputError, match=problem):
        TreeHeader(LINE.network, **more)


def test_scheme_is_available_by_name_for_simulation_only():
    assert scheme("treeheader")(LINE.network).name == "treeheader"
    assert "treeheader" not in SCHEMES


# --- filters


@pytest.mark.parametrize(("links", "hashes"), [(10, 3), (50, 4), (200, 6)])
def test_false_positive_rate_is_the_predicted_one(links, hashes):
    tried, positives = 20_000, 0
    for part in range(10):  # fills vary: take ten filters
        own = [DirectedLink(part, w, 1) for w in range(links)]
        filter = link_filter(own, hashes, filter_size(links, hashes))
        positives += sum(has_link(filter, DirectedLink(part, w, 2), hashes) for w in range(tried // 10))
    chance = false_positive(links, hashes, filter_size(links, hashes))
    assert 2**-hashes / 1.3 < chance < 2**-hashes * 1.05  # whole bytes have a few bits more than are needed
    assert positives == pytest.approx(tried * chance, rel=0.2)


def test_empty_filter_contains_no_link():
    assert filter_size(0, 8) == 0
    assert not has_link(b"", DirectedLink(0, 1, 1), 8)
    assert false_positive(0, 8, 0) == 0.0
    assert false_positive(3, 8, 2) == pytest.approx((1 - (15 / 16) ** 24) ** 8)  # 24 draws of 16 bits, then 8
