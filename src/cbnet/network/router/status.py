"""Status: how is a router? What it answers to a client that asks, such as a live view of the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbnet.network.link.links import Link
from cbnet.network.protocol.fields import MAX_COUNTERS, MAX_PEERS
from cbnet.network.protocol.frames import Peer, Status

if TYPE_CHECKING:
    from cbnet.network.link.context import RouterContext
    from cbnet.network.router.router import Router


def router_status(router: Router, context: RouterContext, number: int, *, is_whole: bool = True) -> Status:
    """Return how a router is now; of very many links and counters only the first.

    is_whole: with what tells of others, the links and counters.
    """
    counters = context.counters + router.subscriptions.table.times() + router.database.predicates.table.times()
    peers = [_peer(link) for link in router.links.all()]
    return Status(
        number,
        context.name,
        context.settings.network,
        context.settings.routing,
        context.life,
        context.now,  # the clock of a router begins with its life
        router.links.neighbours(),
        len(router.view),
        len(router.database),
        router.database.predicates.count,
        len(router.announcement),
        len(router.subscriptions),
        sum(peer.role == "client" for peer in peers),
        sorted(peers, key=lambda peer: (peer.role == "client", peer.name))[:MAX_PEERS] if is_whole else [],
        {str(key): count for key, count in sorted(counters.items())[:MAX_COUNTERS]} if is_whole else {},
        router.subscriptions.loaded_count,
        len(router.offers),
        router.cache.size,
    )


def _peer(link: Link) -> Peer:
    assert link.hello is not None
    traffic = link.traffic
    return Peer(
        link.hello.name, link.hello.role, traffic.received, traffic.sent, traffic.waiting, traffic.dropped
    )  # fmt: skip
