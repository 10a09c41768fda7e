"""Live network: routers and clients that deliver messages by content.

A router is a state machine without I/O and without a clock. A transport (TCP, or memory) drives it: it calls the router
for every event and performs the actions that the call returns.

    router = Router(Settings("r1"), incarnation=random number below 2**63)

    router.opened(link, now, names)     a connection is open, dialled or accepted; `link` is a new number for it
    router.received(link, frame, now)   a frame arrived; one `FrameReader` per link decodes bytes into frames;
                                        `received_all` takes several frames at once
    router.held(link, now)              the transport has paused reading from this link
    router.failed(link, reason, code, now)  `FrameReader` raised a `WireError` with this reason and code
    router.closed(link, now)            the connection is closed
    router.leave(now)                   the router will stop soon; neighbours route around it
    router.journalled(event, now)       the journal, if it has one, has written something, or cannot write
    router.replay(payer, now)           pass some messages of the history, for a payer in `router.replaying`
    router.reload(settings, access, now)  limits, lengths of links and access rights have changed
    router.work(now)                    do some deferred work; call it while `router.has_work`, between other events
    router.tick(now)                    call it about 10 times per second

Each call returns a list of actions, to be performed in order:

    Send(link, frame)       send `encode(frame)`
    Shut(link, reason, code)  send `encode(Close(reason, code))`, then close the connection; do not call `closed`

`now` is in seconds, from any clock, and may jump. Dialled and accepted connections, neighbours and clients are handled
alike: the `Hello` frame identifies the peer. No call raises, whatever the peer sends. Calls are not thread-safe.
`router.counters` counts events, and drops by reason.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cbnet.network.client.async_client import AsyncClient, connect_async
    from cbnet.network.client.async_pull import AsyncOffer, Item, Reply
    from cbnet.network.client.async_subscription import (
        AsyncSubscription,
        Confirmation,
        Delivery,
        DurableDelivery,
        HistorySpan,
    )
    from cbnet.network.client.blocking_client import Client, Offer, Subscription, connect
    from cbnet.network.client.client_events import ClientEvent
    from cbnet.network.client.client_inbox import Traced
    from cbnet.network.client.durable.durable_messages import PeekedMessage
    from cbnet.network.client.durable.durable_publishing import Receipt
    from cbnet.network.client.router_status import statuses
    from cbnet.network.errors import (
        NetworkError,
        NoReply,
        NotConfirmed,
        NotConnected,
        NotStored,
        NotTrusted,
        Refused,
        Timeout,
        TooSlow,
    )
    from cbnet.network.link.context import Action, Send, Shut
    from cbnet.network.link.settings import Settings
    from cbnet.network.protocol.addresses import Address
    from cbnet.network.protocol.durable_frames import DurableLimits
    from cbnet.network.protocol.frames import Close, Frame, Hello, Status
    from cbnet.network.protocol.reasons import ReasonCode
    from cbnet.network.protocol.wire import FrameReader, WireError, encode
    from cbnet.network.router.router import Router
    from cbnet.network.security.tls import Tls
    from cbnet.network.service.process_network import ProcessNetwork
    from cbnet.network.simulation.memory_client import DurableMemoryClient, MemoryClient
    from cbnet.network.simulation.memory_disk import MemoryDisk
    from cbnet.network.simulation.memory_network import MemoryNetwork
    from cbnet.network.transport.tcp_router import TcpRouter

_NAMES = {  # by module
    "client.async_client": "AsyncClient connect_async",
    "client.async_pull": "AsyncOffer Item Reply",
    "client.async_subscription": "AsyncSubscription Confirmation Delivery DurableDelivery HistorySpan",
    "client.blocking_client": "Client Offer Subscription connect",
    "client.client_events": "ClientEvent",
    "client.client_inbox": "Traced",
    "client.durable.durable_messages": "PeekedMessage",
    "client.durable.durable_publishing": "Receipt",
    "client.router_status": "statuses",
    "errors": "NetworkError NoReply NotConfirmed NotConnected NotStored NotTrusted Refused Timeout TooSlow",
    "link.context": "Action Send Shut",
    "link.settings": "Settings",
    "protocol.addresses": "Address",
    "protocol.durable_frames": "DurableLimits",
    "protocol.frames": "Close Frame Hello Status",
    "protocol.reasons": "ReasonCode",
    "protocol.wire": "FrameReader WireError encode",
    "router.router": "Router",
    "security.tls": "Tls",
    "service.process_network": "ProcessNetwork",
    "simulation.memory_client": "DurableMemoryClient MemoryClient",
    "simulation.memory_disk": "MemoryDisk",
    "simulation.memory_network": "MemoryNetwork",
    "transport.tcp_router": "TcpRouter",
}
_MODULES = {name: f"cbnet.network.{module}" for module, names in _NAMES.items() for name in names.split()}
__all__ = [
    "Action", "Address", "AsyncClient", "AsyncOffer", "AsyncSubscription", "Client", "ClientEvent", "Close",
    "Confirmation", "Delivery", "DurableDelivery", "DurableLimits", "DurableMemoryClient", "Frame", "FrameReader",
    "Hello", "HistorySpan", "Item", "MemoryClient", "MemoryDisk", "MemoryNetwork", "NetworkError", "NoReply",
    "NotConfirmed", "NotConnected", "NotStored", "NotTrusted", "Offer", "PeekedMessage", "ProcessNetwork",
    "ReasonCode", "Receipt", "Refused", "Reply", "Router", "Send", "Settings", "Shut", "Status", "Subscription",
    "TcpRouter", "Timeout", "Tls", "TooSlow", "Traced", "WireError", "connect", "connect_async", "encode", "statuses",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: a client needs neither NumPy nor the router."""
    if name not in _MODULES:
        raise AttributeError(f"module 'cbnet.network' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
