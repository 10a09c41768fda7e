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

The state machine:

    frame_parts ─► frames ─► wire           what is said, and its bytes
    links, clock, outbox, settings, local   one connection; time; what to do; what was told
    access ◄─ rights, tokens                who may link, and what it may do
    records ─► database ◄─ flooding ◄─ wanted, origin ◄─ announced, leaving     what all know
    filters, predicates, slots, timed_table                 how it is written, and matched
    view ◄─ interests, headers              what a scheme makes of it
    addressed, content ─► forwarding ◄─ duplicates, hops    the way of a message
    clients ◄─ subscriptions, confirmations, traces, status
    pulls ◄─ holders, requesters, reply_cache, requested, pull_steps    the way of a request and its reply
    router                                  all of it together
    memory, memory_client, trial            a whole network in one process, with a clock of its own
    border, border_tree ─► gateway ◄─ memory_gateway        networks that are domains of a larger one
    network_file, loaded, first_table ─► beginning, rehearsal   networks that are made from data

Over TCP:

    addresses, backoff, waiting, tls ─► connection ─► tcp ◄─ turns, interfaces      a router
    journal ◄─ logs;  http_server ◄─ metrics, health        what it tells
    configuration ◄─ toml_files, security, operation ─► serving ◄─ loops    a process
    gateway_file ─► gateway_serving                         the process of a gateway
    launcher ◄─ processes ─► running                        many of them on one machine
    client_link, publishing, async_subscription, async_pull ─► async_client ─► client   clients; `failures`
    statuses ─► rates;  load                                who watches many routers, and who loads them
"""

from cbnet.network.addresses import Address
from cbnet.network.async_client import AsyncClient, Traced, connect_async
from cbnet.network.async_pull import AsyncOffer, Item, Reply
from cbnet.network.async_subscription import AsyncSubscription, Confirmation, Delivery
from cbnet.network.client import Client, Offer, Subscription, connect
from cbnet.network.failures import (
    NetworkError,
    NoReply,
    NotConfirmed,
    NotConnected,
    NotTrusted,
    Refused,
    Timeout,
    TooSlow,
)
from cbnet.network.frames import Close, Frame, Hello, Status
from cbnet.network.memory import Memory
from cbnet.network.memory_client import MemoryClient
from cbnet.network.outbox import Action, Send, Shut
from cbnet.network.processes import Processes
from cbnet.network.router import Router
from cbnet.network.settings import Settings
from cbnet.network.statuses import statuses
from cbnet.network.tcp import TcpRouter
from cbnet.network.tls import Tls
from cbnet.network.wire import FrameReader, WireError, encode

__all__ = [
    "Action", "Address", "AsyncClient", "AsyncOffer", "AsyncSubscription", "Client", "Close", "Confirmation",
    "Delivery", "Frame", "FrameReader", "Hello", "Item", "Memory", "MemoryClient", "NetworkError", "NoReply",
    "NotConfirmed", "NotConnected", "NotTrusted", "Offer", "Processes", "Refused", "Reply", "Router", "Send",
    "Settings", "Shut", "Status", "Subscription", "TcpRouter", "Timeout", "Tls", "TooSlow", "Traced", "WireError",
    "connect", "connect_async", "encode", "statuses",
]  # fmt: skip
