"""Status and tables of a router, as its clients see them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from cbnet.language.syntax.byte_form import filters_digest
from cbnet.network.announce.subscriptions import OWN_SOURCES
from cbnet.network.link.context import RouterContext
from cbnet.network.link.link import Link
from cbnet.network.linkstate.tree_view import TreeLink, TreeView
from cbnet.network.protocol import frames
from cbnet.network.protocol.fields import MAX_COUNTERS, MAX_FRAME_FILTERS, MAX_PEERS, MAX_STATUS_INTERFACES, MAX_TREES
from cbnet.network.protocol.frames import InterfaceStatus, Peer, Status

if TYPE_CHECKING:
    from cbnet.network.router.router import Router

_MAX_PAGE_BYTES = 1 << 18


def router_status(router: Router, context: RouterContext, number: int, *, is_whole: bool = True) -> Status:
    """Return the router's status; neighbours, interfaces, peers and counters, which concern others, only if `is_whole`.

    Links of HTTP requests do not count as clients: a query would change its own result.
    """
    counters = router.counters + router.fib.table.times()
    peers = [_peer(link) for link in router.links.all() if link.is_listed]
    return Status(
        number=number,
        router=context.name,
        network=context.settings.network,
        scheme=context.settings.routing,
        incarnation=context.incarnation,
        uptime=context.now,  # the clock starts with the router
        neighbours=router.links.weights() if is_whole else {},
        reachable=len(router.version),
        records=len(router.database),
        is_complete=router.is_complete,
        versions=len(router.versions.kept),
        streams_in=len(router.streams.incoming),
        streams_out=len(router.streams.outgoing),
        filters=len(router.fib.aggregation),
        table_filters=router.fib.table.size,
        own_filters=router.subscriptions.own_filters,
        subscriptions=len(router.fib),
        clients=sum(peer.role == "client" for peer in peers),
        interfaces=list(islice(interfaces(router), MAX_STATUS_INTERFACES)) if is_whole else [],
        peers=sorted(peers, key=lambda peer: (peer.role == "client", peer.name))[:MAX_PEERS] if is_whole else [],
        counters={str(key): count for key, count in sorted(counters.items())[:MAX_COUNTERS]} if is_whole else {},
        initial=len(router.fib.initial or ()),
        offers=len(router.offer_fib),
        cached=router.pulls.cache.size,
        silent={name: round(seconds) for name, seconds in router.silent_neighbours.items()} if is_whole else {},
        history=router.durable.history_status(is_whole=is_whole),
    )


def interfaces(router: Router) -> Iterator[InterfaceStatus]:
    """Yield the interfaces of the newest version; trees with the same sides of a link share one."""
    trees: dict[tuple[str, bytes, bytes], list[int]] = {}
    links: dict[tuple[str, bytes, bytes], TreeLink] = {}
    for tree in router.version.trees:
        for link in tree.links.values():
            sides = link.neighbour, link.far_key if link.receives else b"", link.near_key if link.announces else b""
            trees.setdefault(sides, []).append(tree.number)
            links[sides] = link
    for sides, link in sorted(links.items()):
        yield _interface(router, link, trees[sides])


def _interface(router: Router, link: TreeLink, trees: list[int]) -> InterfaceStatus:
    subscriptions, offers = router.streams.kinds
    incoming = router.streams.from_side(link) if link.receives else None
    outgoing = router.streams.to_side(link) if link.announces else None
    return InterfaceStatus(
        neighbour=link.neighbour,
        trees=trees[:MAX_TREES],
        routers=len(link.behind),
        is_up=router.links.by_session(link.session) is not None,
        is_heard=incoming is not None or not link.receives,
        is_acknowledged=not link.announces or (outgoing is not None and outgoing.has(outgoing.sequence)),
        held=0 if incoming is None else subscriptions.count(incoming),
        announced=0 if outgoing is None else subscriptions.size(outgoing),
        covered=0 if outgoing is None else subscriptions.covered(outgoing),
        offers_held=0 if incoming is None else offers.count(incoming),
        offers_announced=0 if outgoing is None else offers.size(outgoing),
    )


def _peer(link: Link) -> Peer:
    assert link.hello is not None
    traffic = link.traffic
    return Peer(
        name=link.hello.name,
        role=link.hello.role,
        received=traffic.received,
        sent=traffic.sent,
        waiting=traffic.waiting,
        dropped=traffic.dropped,
        messages_received=traffic.messages_received,
        messages_sent=traffic.messages_sent,
    )


# --- tables


def table_summary(router: Router, number: int) -> frames.TableSummary:
    """Return the digests of the router's own filters, and of the interfaces on each tree."""
    interfaces = [_table(router, "", "")]
    for tree in _trees(router):
        interfaces += [_table(router, tree.root, each.to.neighbour) for each in router.fib.interfaces(tree)]
    return frames.TableSummary(number, router.settings.name, router.is_settled, router.version.id, interfaces)


def filter_page(router: Router, request: frames.FilterRequest) -> frames.FilterPage:
    """Return some filters of an interface."""
    filters = sorted(_filters(router, request.root, request.neighbour, are_offers=request.are_offers))
    page: list[bytes] = []
    size = 0
    for filter in filters[request.first : request.first + MAX_FRAME_FILTERS]:
        size += len(filter)
        if page and size > _MAX_PAGE_BYTES:
            break
        page.append(filter)
    return frames.FilterPage(request.number, page, request.first + len(page) >= len(filters))


def _trees(router: Router) -> Iterator[TreeView]:
    """Yield the trees with tables of their own: the shared ones, or the tree of this router."""
    numbers = range(len(router.version.trees)) if router.settings.scheme == "multitree" else range(1)
    return filter(None, (router.version.tree(number, router.settings.name) for number in numbers))


def _table(router: Router, root: str, neighbour: str) -> frames.InterfaceTable:
    subscriptions, offers = (_filters(router, root, neighbour, are_offers=each) for each in (False, True))
    return frames.InterfaceTable(
        root, neighbour, len(subscriptions), filters_digest(subscriptions), len(offers), filters_digest(offers)
    )


def _filters(router: Router, root: str, neighbour: str, *, are_offers: bool) -> set[bytes]:
    fib = router.offer_fib if are_offers else router.fib
    if not neighbour:
        return set().union(*map(fib.aggregation.filters, OWN_SOURCES))
    for tree in _trees(router):
        if tree.root == root and neighbour in tree.links:
            return fib.filters(tree.links[neighbour])
    return set()
