"""Links: who is at the other end of each connection, and is it still there?

    opened ──Hello goes out──► greeting ──Hello comes in──► up ──► gone
                                   └───── silence, or something wrong ─────┘

Two routers may have several links at once, where both have dialled, or where one has noticed the end of a link
before the other. Records go over all of them, packets over the newest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Denial
from cbnet.network.link.traffic import LinkTraffic
from cbnet.network.protocol.fields import MAX_NEIGHBOURS, MAX_REASON_LENGTH, MAX_WEIGHT
from cbnet.network.protocol.frames import Hello, Ping, RefusedFrame, frame_number
from cbnet.network.protocol.wire import MAX_VERSION, MIN_VERSION, WireError
from cbnet.network.security.access import OPEN_ACCESS, Access
from cbnet.network.security.rights import ALL_RIGHTS, Denied, Rights

HELLO = frame_number(Hello)
_MOST_PARALLEL = 4


@dataclass
class Link:
    """One connection."""

    id: int
    heard: float  # when something came, at last
    pinged: float  # when it was last asked whether it is there
    hello: Hello | None = None  # what the other side said of itself
    is_dropped_for: bool = True  # whether messages are dropped if it reads too slowly; else it is disconnected
    traffic: LinkTraffic = field(default_factory=LinkTraffic)
    names: frozenset[str] | None = None  # in the certificate of the other side; None: it is not known by TLS
    rights: Rights = ALL_RIGHTS  # of a client
    denied: int = 0  # what it asked for and may not

    @property
    def is_router(self) -> bool:
        """Whether a router is known to be at the other end."""
        return self.hello is not None and self.hello.role == "router"

    @property
    def account(self) -> str:
        """The name of a client whose rights are told; empty for all others."""
        return self.hello.name if self.hello is not None and self.rights is not ALL_RIGHTS else ""


class LinkTable:
    """All connections of a router."""

    def __init__(self, context: RouterContext, forget: Callable[[int], None], access: Access = OPEN_ACCESS) -> None:
        """Take what to call when a link is gone, and who may link."""
        self._context = context
        self._settings = context.settings
        self._forget = forget
        self._access = access
        self._all: dict[int, Link] = {}
        self._by_neighbour: dict[str, list[int]] = {}  # oldest first
        self._by_account: dict[str, list[int]] = {}
        settings = context.settings
        self._own = Hello(
            low=MIN_VERSION,
            high=MAX_VERSION,
            role="router",
            name=settings.name,
            network=settings.network,
            life=context.life,
            scheme=settings.routing,
        )
        self._pings = 0
        self.changes = 0  # of who the neighbours are, and how far
        self.is_leaving = False

    # --- lookup

    def get(self, link: int) -> Link | None:
        """Return a link that is open."""
        return self._all.get(link)

    def name(self, link: int) -> str:
        """Return what the other side of a link calls itself."""
        known = self._all.get(link)
        return "?" if known is None or known.hello is None else known.hello.name

    def routers(self) -> list[int]:
        """Return the links to routers."""
        return [link for links in self._by_neighbour.values() for link in links]

    def neighbours(self) -> dict[str, int]:
        """Return the routers at the other ends, with the lengths of the links: the greatest if this router leaves."""
        weights = {} if self.is_leaving else self._settings.weights
        usual = MAX_WEIGHT if self.is_leaving else 1
        return {name: weights.get(name, usual) for name in sorted(self._by_neighbour)}

    def to(self, neighbour: str) -> int | None:
        """Return the newest link to a router."""
        links = self._by_neighbour.get(neighbour)
        return links[-1] if links else None

    def of_same_client(self, link: int) -> list[int]:
        """Return the links of the client that has a link, as far as that is known: this one at least."""
        known = self._all.get(link)
        return self._by_account.get(known.account if known else "", [link])

    def all(self) -> list[Link]:
        """Return the links whose other side is known."""
        return [link for link in self._all.values() if link.hello is not None]

    def __len__(self) -> int:
        return len(self._all)

    # --- changes

    def open(self, link: int, names: frozenset[str] | None = None) -> None:
        """Greet whoever is at the other end of a new connection."""
        self._all[link] = Link(link, self._context.now, self._context.now, names=names)
        self._context.outbox.send(link, self._own)

    def greeted(self, link: Link, hello: Hello) -> None:
        """Take the greeting of the other side, or refuse it."""
        if link.hello is not None:
            raise WireError("a second Hello")
        self._check(hello)
        hello = link.hello = self._admitted(link, hello)
        if link.account:
            self._by_account.setdefault(link.account, []).append(link.id)
        if link.is_router:
            self.changes += hello.name not in self._by_neighbour
            parallel = self._by_neighbour.setdefault(hello.name, [])
            parallel.append(link.id)
            if len(parallel) > _MOST_PARALLEL:
                self.shut(parallel[0], "there are newer links between us")

    def _admitted(self, link: Link, hello: Hello) -> Hello:
        """Return the Hello of who may link, with its true name and without its token; refuse all others."""
        try:
            name, link.rights = self._access.admitted(hello, link.names)
            link.rights.check_links(len(self._by_account.get(name, ())) + 1)
        except Denied as error:
            self._context.counters[Denial(hello.role).key] += 1
            if hello.role == "client":
                self._context.outbox.send(link.id, RefusedFrame(HELLO, 0, error.summary[:MAX_REASON_LENGTH]))
            raise WireError(error.summary) from None
        return replace(hello, name=name, token="")

    def _check(self, hello: Hello) -> None:
        own = self._own
        if hello.low > MAX_VERSION or hello.high < MIN_VERSION:
            here = f"{MIN_VERSION} to {MAX_VERSION}"
            raise WireError(f"no common version: {hello.low} to {hello.high} there, {here} here")
        if hello.network != own.network:
            raise WireError(f"this is the network {own.network!r}, not {hello.network!r}")
        if hello.role == "router" and hello.name == own.name:
            raise WireError(f"the name {own.name!r} is mine")
        if hello.role == "router" and hello.scheme != own.scheme:
            raise WireError(f"this network routes by {own.scheme}, not by {hello.scheme}")
        is_new = hello.role == "router" and hello.name not in self._by_neighbour
        if is_new and len(self._by_neighbour) >= MAX_NEIGHBOURS:
            raise WireError(f"there are {MAX_NEIGHBOURS:,} neighbours here, and no more can be told of")

    def leave(self) -> None:
        """From now on tell that all links are as long as can be: messages take other ways, if there are any."""
        self.changes += not self.is_leaving
        self.is_leaving = True

    def shut(self, link: int, reason: str) -> None:
        """Close a link from this side."""
        if link in self._all:
            self._context.outbox.shut(link, reason)
            self.drop(link)

    def drop(self, link: int) -> None:
        """Forget a link that is closed."""
        gone = self._all.pop(link, None)
        if gone is None:
            return
        if gone.is_router and gone.hello is not None:
            parallel = self._by_neighbour[gone.hello.name]
            parallel.remove(link)
            if not parallel:
                del self._by_neighbour[gone.hello.name]
                self.changes += 1
        if gone.account in self._by_account:
            self._by_account[gone.account].remove(link)
            if not self._by_account[gone.account]:
                del self._by_account[gone.account]
        self._forget(link)

    def watch(self) -> None:
        """Ask those who are silent whether they are there; close the links of those who do not answer."""
        now = self._context.now
        for link in list(self._all.values()):
            silence = now - link.heard
            if silence >= self._settings.dead:
                said = "nothing" if link.hello else "no Hello"
                self.shut(link.id, f"{said} came for {self._settings.dead:g} s")
            elif link.hello is not None and min(silence, now - link.pinged) >= self._settings.heartbeat:
                self._pings += 1
                link.pinged = now
                self._context.outbox.send(link.id, Ping(self._pings))
