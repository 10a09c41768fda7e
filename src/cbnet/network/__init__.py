"""Network: routers and clients that run, and deliver by content.

A router is a state machine without input, output or clock. Who runs it, over TCP or in memory, tells it what happens
and does what it answers:

    router = Router(Settings("r1", scheme="psf"), life=random number below 2**63)

    router.opened(link, now, names)     a connection is there, dialled or accepted: `link` is a new number for it
    router.received(link, frame, now)   a frame came over it: `FrameReader`, one for each link, makes frames of bytes;
                                        `received_all` takes several at once
    router.held(link, now)              nothing is read from it for a while, and so it is silent
    router.failed(link, reason, now)    `FrameReader` has raised a `WireError`, with that reason
    router.closed(link, now)            the connection is gone
    router.leave(now)                   it shall end soon: others are told to take other ways
    router.tick(now)                    call it some 10 times in a second

Each returns a list of actions, to be done in this order:

    Send(link, frame)       send `encode(frame)`
    Shut(link, reason)      send `encode(Close(reason))`, then close the connection; `closed` need not be called

`now` is in seconds, of any clock: it may jump. All is the same for dialled and accepted connections, for neighbours and
clients: a `Hello` says who is there. None of the calls raises, whatever the other side has sent; none may be made from
two threads at once. `router.counters` has what happened, and what was dropped for which reason.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cbnet.network.client.async_client import AsyncClient, Traced, connect_async
    from cbnet.network.client.async_pull import AsyncOffer, Item, Reply
    from cbnet.network.client.async_subscription import AsyncSubscription, Confirmation, Delivery
    from cbnet.network.client.client import Client, Offer, Subscription, connect
    from cbnet.network.client.status_query import statuses
    from cbnet.network.errors import (
        NetworkError,
        NoReply,
        NotConfirmed,
        NotConnected,
        NotTrusted,
        Refused,
        Timeout,
        TooSlow,
    )
    from cbnet.network.link.actions import Action, Send, Shut
    from cbnet.network.link.settings import Settings
    from cbnet.network.protocol.addresses import Address
    from cbnet.network.protocol.frames import Close, Frame, Hello, Status
    from cbnet.network.protocol.wire import FrameReader, WireError, encode
    from cbnet.network.router.router import Router
    from cbnet.network.security.tls import Tls
    from cbnet.network.service.process_network import ProcessNetwork
    from cbnet.network.simulation.memory_client import MemoryClient
    from cbnet.network.simulation.memory_network import MemoryNetwork
    from cbnet.network.transport.tcp_router import TcpRouter

_NAMES = {  # by module
    "client.async_client": "AsyncClient Traced connect_async",
    "client.async_pull": "AsyncOffer Item Reply",
    "client.async_subscription": "AsyncSubscription Confirmation Delivery",
    "client.client": "Client Offer Subscription connect",
    "client.status_query": "statuses",
    "errors": "NetworkError NoReply NotConfirmed NotConnected NotTrusted Refused Timeout TooSlow",
    "link.actions": "Action Send Shut",
    "link.settings": "Settings",
    "protocol.addresses": "Address",
    "protocol.frames": "Close Frame Hello Status",
    "protocol.wire": "FrameReader WireError encode",
    "router.router": "Router",
    "security.tls": "Tls",
    "service.process_network": "ProcessNetwork",
    "simulation.memory_client": "MemoryClient",
    "simulation.memory_network": "MemoryNetwork",
    "transport.tcp_router": "TcpRouter",
}
_MODULES = {name: f"cbnet.network.{module}" for module, names in _NAMES.items() for name in names.split()}
__all__ = [
    "Action",
    "Address",
    "AsyncClient",
    "AsyncOffer",
    "AsyncSubscription",
    "Client",
    "Close",
    "Confirmation",
    "Delivery",
    "Frame",
    "FrameReader",
    "Hello",
    "Item",
    "MemoryClient",
    "MemoryNetwork",
    "NetworkError",
    "NoReply",
    "NotConfirmed",
    "NotConnected",
    "NotTrusted",
    "Offer",
    "ProcessNetwork",
    "Refused",
    "Reply",
    "Router",
    "Send",
    "Settings",
    "Shut",
    "Status",
    "Subscription",
    "TcpRouter",
    "Timeout",
    "Tls",
    "TooSlow",
    "Traced",
    "WireError",
    "connect",
    "connect_async",
    "encode",
    "statuses",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: a client needs neither NumPy nor the router."""
    if name not in _MODULES:
        raise AttributeError(f"module 'cbnet.network' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
