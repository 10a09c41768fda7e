"""Status: how is a router? What it answers to a client that asks, such as a live view of the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbnet.network.link.links import Link
from cbnet.network.protocol.fields import MOST_COUNTERS, MOST_PEERS
from cbnet.network.protocol.frames import Peer, Status

if TYPE_CHECKING:
    from cbnet.network.link.context import Local
    from cbnet.network.router.router import Router


def status_of(router: Router, local: Local, number: int, *, is_whole: bool = True) -> Status:
    """Return how a router is now; of very many links and counters only the first.

    is_whole: with what tells of others, the links and counters.
    """
    counters = local.counters + router.subscriptions.table.times() + router.database.predicates.table.times()
    peers = [_peer(link) for link in router.links.all()]
    return Status(
        number,
        local.name,
        local.settings.network,
        local.settings.routing,
        local.life,
        local.now,  # the clock of a router begins with its life
        router.links.neighbours(),
        len(router.view),
        len(router.database),
        router.database.predicates.count,
        len(router.announced),
        len(router.subscriptions),
        sum(peer.role == "client" for peer in peers),
        sorted(peers, key=lambda peer: (peer.role == "client", peer.name))[:MOST_PEERS] if is_whole else [],
        {str(key): count for key, count in sorted(counters.items())[:MOST_COUNTERS]} if is_whole else {},
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
