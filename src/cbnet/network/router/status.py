"""Status of a router, as its clients see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbnet.network.link.links import Link
from cbnet.network.protocol.fields import MAX_COUNTERS, MAX_PEERS
from cbnet.network.protocol.frames import Peer, Status

if TYPE_CHECKING:
    from cbnet.network.link.context import RouterContext
    from cbnet.network.router.router import Router


def router_status(router: Router, context: RouterContext, number: int, *, is_whole: bool = True) -> Status:
    """Return the router's status, with links and counters, which reveal data of others, only if `is_whole`."""
    counters = context.counters + router.subscriptions.table.times()
    peers = [_peer(link) for link in router.links.all()]
    return Status(
        number=number,
        router=context.name,
        network=context.settings.network,
        scheme=context.settings.routing,
        life=context.life,
        uptime=context.now,  # the clock starts with the router
        neighbours=router.links.weights(),
        reachable=len(router.version),
        records=len(router.database),
        filters=len(router.subscriptions.aggregation),
        announced=router.subscriptions.own_filters,
        subscriptions=len(router.subscriptions),
        clients=sum(peer.role == "client" for peer in peers),
        peers=sorted(peers, key=lambda peer: (peer.role == "client", peer.name))[:MAX_PEERS] if is_whole else [],
        counters={str(key): count for key, count in sorted(counters.items())[:MAX_COUNTERS]} if is_whole else {},
        loaded=router.subscriptions.loaded_count,
        offers=len(router.offers),
        cached=router.cache.size,
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
    )
