"""One link of a router, and the traffic of its interfaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from math import inf
from typing import Final, NamedTuple, TypeAlias

from cbnet._kernels.link_output import LinkOutput, LinkTraffic
from cbnet.network.protocol.fields import MAX_INT, MAX_NEIGHBOURS
from cbnet.network.protocol.frames import Hello
from cbnet.network.security.rights import ALL_RIGHTS, Rights

OTHERS = "others"  # neighbours beyond the first MAX_NEIGHBOURS names
_UNBOUNDED = 1 << 40  # bytes
_NEIGHBOUR_WEIGHT = 4  # it sends the messages of many

_END: Final = object()  # of the steps of a frame
End: TypeAlias = tuple[int, int]  # of a connection: the incarnation of a router, and its number for the link


def session_id(one: End, other: End) -> int:
    """Return the id of a session, below 2**63; the same at both ends."""
    ends = b"".join(number.to_bytes(8, "big") for end in sorted((one, other)) for number in end)
    return int.from_bytes(blake2b(ends, digest_size=8).digest(), "big") & MAX_INT


@dataclass(eq=False)
class Link:
    """One link, from the opening of its connection to the end: shared by all parts of a router and its transport.

    A part that keeps further state for links appends a function to `LinkTable.on_closed`, in its constructor. Nothing
    else announces the end of a link.
    """

    id: int
    output: LinkOutput = field(default_factory=lambda: LinkOutput(_UNBOUNDED, _UNBOUNDED))
    is_open: bool = True

    # the peer
    address: str = ""
    certificate_names: frozenset[str] | None = None  # None: no TLS
    hello: Hello | None = None  # None: not received yet
    session: int = 0  # of a router, after its Hello; see `session_id`
    rights: Rights = ALL_RIGHTS  # of a client
    denials: int = 0
    is_listed: bool = True  # whether the status shows it; False for links of HTTP requests, which are short-lived
    drops_when_slow: bool = True  # drop messages if the peer reads too slowly; else disconnect it
    close_reason: str | None = None  # sent by the peer

    # times and liveness
    up_since: float | None = None
    last_received: float = 0.0
    last_ping: float = 0.0
    probed: float = -inf  # time of a ping sent because other routers report that the peer has closed the link
    challenge: int = 0  # number of a ping whose answer proves that two routers have the same name
    sent_before: int = -1  # bytes, at the last check for a keepalive

    # scheduling
    is_blocked: bool = False  # whether the client has fed a queue that is still long
    counted: tuple[int, int] = 0, 0  # messages and bytes received that the rates of the account include
    lost: int = 0  # messages dropped that the client has not been notified of
    stall: tuple[int, float] | None = None  # bytes that had left the write buffer, and the time since which none has
    steps: Iterator[None] | None = None  # that remain of the last frame, which takes long; no other is handled before

    def begin(self, steps: Iterator[None]) -> None:
        """Make the first step of a frame that takes long."""
        self.steps = steps
        self.proceed()

    def proceed(self) -> None:
        """Make the next step of the last frame, if any remains."""
        if self.steps is not None and next(self.steps, _END) is _END:
            self.steps = None

    @property
    def traffic(self) -> LinkTraffic:
        """Bytes and messages that passed over the link."""
        return self.output.traffic

    @property
    def name(self) -> str:
        """The name of the peer; `?` before its Hello."""
        return "?" if self.hello is None else self.hello.name

    @property
    def is_router(self) -> bool:
        """Whether the peer is known to be a router."""
        return self.hello is not None and self.hello.role == "router"

    @property
    def payer(self) -> str:
        """Who is charged for processor time: the neighbour, the account, or the host of a client without one."""
        if self.is_router:
            return f"router {self.name}"
        return self.account or f"host {self.address.rpartition(':')[0] or self.id}"

    @property
    def processor_weight(self) -> int:
        """The share of the payer in the processor time of the router."""
        return _NEIGHBOUR_WEIGHT if self.is_router else self.rights.weight or 1

    @property
    def account(self) -> str:
        """The name of a client that has an account; empty for all other peers."""
        return self.hello.name if self.hello is not None and self.rights is not ALL_RIGHTS else ""


class Interface(NamedTuple):
    """A neighbour, by name; or all clients; or all peers without a Hello. Their number stays small."""

    role: str
    name: str


class InterfaceTraffic:
    """Traffic totals of a router's interfaces, over open and closed links."""

    def __init__(self) -> None:
        self._closed: dict[Interface, LinkTraffic] = {}

    def add_closed(self, link: Link) -> None:
        """Add a closed link to the totals."""
        _add(self._closed, link)

    def totals(self, links: Iterable[Link]) -> dict[Interface, LinkTraffic]:
        """Return the totals, open links included; `waiting` counts open links only."""
        totals = {interface: _sum(LinkTraffic(), traffic) for interface, traffic in self._closed.items()}
        for link in links:
            _add(totals, link).waiting += link.traffic.waiting
        return totals


def _add(totals: dict[Interface, LinkTraffic], link: Link) -> LinkTraffic:
    interface = _interface(link)
    if interface not in totals and len(totals) > MAX_NEIGHBOURS:
        interface = Interface(interface.role, OTHERS)
    return _sum(totals.setdefault(interface, LinkTraffic()), link.traffic)


def _interface(link: Link) -> Interface:
    if link.hello is None:
        return Interface("unknown", "unknown")
    return Interface("router", link.hello.name) if link.is_router else Interface("client", "clients")


def _sum(into: LinkTraffic, more: LinkTraffic) -> LinkTraffic:
    into.received += more.received
    into.sent += more.sent
    into.dropped += more.dropped
    into.messages_received += more.messages_received
    into.messages_sent += more.messages_sent
    return into
