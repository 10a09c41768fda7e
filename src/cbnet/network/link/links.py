"""Links of a router: peers, handshake and liveness.

    opened ──Hello sent──► greeting ──Hello received──► up ──► closed
                               └──── timeout or protocol error ────┘

Two routers may have several links at once, if both have dialled, or if one has noticed the end of a link before the
other. Each link is a separate session, with an id that both ends compute from their Hellos. Records are sent over all
of them.

Two routers with the same name are reported by any router that sees both. A new incarnation under the name of a current
neighbour is usually that neighbour after a restart, whose old connection has not ended yet. The old link is therefore
pinged: only a router that is still running answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from cbnet._kernels.link_output import LinkOutput, LinkTraffic
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Denial, Event
from cbnet.network.link.link import Interface, InterfaceTraffic, Link, session_id
from cbnet.network.logs import audit
from cbnet.network.protocol.fields import MAX_NEIGHBOURS, MAX_REASON_LENGTH, MAX_WEIGHT
from cbnet.network.protocol.frames import Hello, LinkField, Ping, Pong, frame_number
from cbnet.network.protocol.reasons import ReasonCode, refused
from cbnet.network.protocol.wire import OLDEST_CLIENT, VERSION, WireError
from cbnet.network.security.access import OPEN_ACCESS, Access
from cbnet.network.security.rights import Denied, Rights

_MAX_PARALLEL_LINKS = 4
_PROBE_SECONDS = 0.1


class LinkTable:
    """All links of a router."""

    def __init__(self, context: RouterContext, access: Access = OPEN_ACCESS) -> None:
        self._context = context
        self.access = access
        self.on_closed: list[Callable[[Link], None]] = []  # called in order with each link that has ended
        self._all: dict[int, Link] = {}
        self._by_neighbour: dict[str, list[Link]] = {}  # oldest first
        self._by_session: dict[int, int] = {}
        self._by_account: dict[str, list[int]] = {}
        settings = context.settings
        self._own_hello = Hello(
            low=OLDEST_CLIENT,
            high=VERSION,
            role="router",
            name=settings.name,
            network=settings.network,
            incarnation=context.incarnation,
            link=0,
            scheme=settings.routing,
        )
        self._traffic = InterfaceTraffic()
        self._refused: dict[str, tuple[int, float]] = {}  # by neighbour: incarnation, refused until
        self._pings = 0
        self.changes = 0  # of the set of sessions, or of the lengths of links
        self.is_leaving = False

    # --- lookup

    def get(self, link: int) -> Link | None:
        """Return an open link."""
        return self._all.get(link)

    def name(self, link: int) -> str:
        """Return the name of the peer."""
        known = self._all.get(link)
        return "?" if known is None else known.name

    def routers(self) -> list[int]:
        """Return the links to routers."""
        return [link.id for links in self._by_neighbour.values() for link in links]

    def neighbours(self) -> dict[str, LinkField]:
        """Return the neighbours with the lengths of their links and their sessions, as in a link record."""
        return {name: LinkField(weight, self._sessions(name)) for name, weight in self.weights().items()}

    def weights(self) -> dict[str, int]:
        """Return the neighbours with the lengths of their links; `MAX_WEIGHT` if this router is leaving."""
        weights = {} if self.is_leaving else self._context.settings.weights
        default = MAX_WEIGHT if self.is_leaving else 1
        return {name: weights.get(name, default) for name in sorted(self._by_neighbour)}

    def to(self, neighbour: str) -> int | None:
        """Return the newest link to a router."""
        links = self._by_neighbour.get(neighbour)
        return links[-1].id if links else None

    def by_session(self, session: int) -> int | None:
        """Return the link of a session."""
        return self._by_session.get(session)

    def answering(self, neighbour: str) -> list[int]:
        """Return the links to a router over which something was received recently, oldest first.

        A live link is never silent for long: after a `heartbeat` of silence the peer is pinged. A probed peer must
        answer soon.
        """
        return [link.id for link in self._by_neighbour.get(neighbour, ()) if self._is_answering(link)]

    def _is_answering(self, link: Link) -> bool:
        now = self._context.now
        is_late = link.last_received <= link.probed and now - link.probed > _PROBE_SECONDS
        return link.last_received >= now - 2 * self._context.settings.heartbeat and not is_late

    def probe(self, neighbour: str) -> None:
        """Ping a neighbour that, according to other routers, has closed its links to this one."""
        for link in self._by_neighbour.get(neighbour, ()):
            if link.last_received > link.probed:  # else it was probed already
                link.probed = self._context.now
                self._ping(link)

    def has_session(self, neighbour: str, sessions: Iterable[int]) -> bool:
        """Return whether any of `sessions` with a neighbour is open."""
        return not set(sessions).isdisjoint(self._sessions(neighbour))

    def _sessions(self, neighbour: str) -> list[int]:
        return sorted(link.session for link in self._by_neighbour[neighbour])

    def of_same_client(self, link: Link) -> list[int]:
        """Return all links of the client that has this link; without an account, only this one."""
        return self._by_account.get(link.account, [link.id])

    def all(self) -> list[Link]:
        """Return the links whose peer is known."""
        return [link for link in self._all.values() if link.hello is not None]

    def interfaces(self) -> dict[Interface, LinkTraffic]:
        """Return the traffic of each interface since the start."""
        return self._traffic.totals(self._all.values())

    def __len__(self) -> int:
        return len(self._all)

    # --- changes

    def open(
        self,
        number: int,
        certificate_names: frozenset[str] | None = None,
        address: str = "",
        output: LinkOutput | None = None,
    ) -> Link:
        """Add the link of a new connection, and send a `Hello` over it; output: None for an unlimited one."""
        link = self._all[number] = Link(number, address=address, certificate_names=certificate_names)
        if output is not None:
            link.output = output
        link.last_received = link.last_ping = self._context.now
        self._context.outbox.send(number, replace(self._own_hello, link=number))
        return link

    def accept_hello(self, link: Link, hello: Hello) -> None:
        """Accept the `Hello` of a peer, or raise a `WireError`."""
        if link.hello is not None:
            raise WireError("a second Hello")
        self._check(hello)
        hello = link.hello = self._admit(link, hello)
        self._join_account(link)
        if link.is_router:
            self._add_router(link, hello)

    def _add_router(self, link: Link, hello: Hello) -> None:
        link.session = session_id((self._context.incarnation, link.id), (hello.incarnation, hello.link))
        self._by_session[link.session] = link.id
        self.changes += 1
        parallel = self._by_neighbour.setdefault(hello.name, [])
        for other in parallel:
            self._challenge(other, hello.incarnation)
        parallel.append(link)
        if len(parallel) > _MAX_PARALLEL_LINKS:
            self.shut(parallel[0].id, "replaced by newer links", ReasonCode.REPLACED)

    def _challenge(self, link: Link, incarnation: int) -> None:
        """Ping a neighbour whose name another incarnation now uses."""
        if link.hello is not None and link.hello.incarnation != incarnation:
            self._ping(link)
            link.challenge = self._pings

    def accept_pong(self, link: Link, pong: Pong) -> None:
        """Handle the answer to a ping; warn if it proves that two routers have the same name."""
        if link.challenge and pong.number >= link.challenge:
            link.challenge = 0
            reason = f"two routers named {link.name!r} are linked to this one; rename one of them"
            self._context.warn("duplicate neighbour", name=link.name, reason=reason)

    def _admit(self, link: Link, hello: Hello) -> Hello:
        """Return the `Hello` of an admitted peer, with its true name and without its token; refuse others."""
        try:
            name, link.rights = self.access.admit(hello, link.certificate_names)
            link.rights.check_count("links", len(self._by_account.get(name, ())) + 1, "at once")
        except Denied as error:
            self._deny(link, hello, error)
            raise WireError(error.summary, error.code) from None
        return replace(hello, name=name, token="")

    def _deny(self, link: Link, hello: Hello, error: Denied) -> None:
        """Count a peer that is denied a link, and send a client the reason."""
        self.count_denied(hello.role, error, link.address, "" if link.hello is None else hello.name)
        if hello.role == "client":
            self._context.outbox.send(link.id, refused(frame_number(Hello), 0, error))

    def count_denied(self, role: str, error: Denied, address: str, name: str = "") -> None:
        """Count and audit a peer that is denied a link; name: of its account, if it is known."""
        self._context.counters[Denial(role).key] += 1
        audit("link", error.summary, client=name, address=address)

    def change_access(self, access: Access) -> list[tuple[Link, Rights]]:
        """Apply new rules: close the links of peers that they do not admit, the newest where there are too many.

        Return the links of clients whose rights have changed, with their previous rights.
        """
        former, self.access = self.access, access
        self._by_account = {}
        changed = []
        for link in self.all():
            assert link.hello is not None
            before = link.rights
            try:
                link.rights = access.review(link.hello, link.certificate_names, former).rights
                link.rights.check_count("links", len(self._by_account.get(link.account, ())) + 1, "at once")
            except Denied as error:
                self._deny(link, link.hello, error)
                self.shut(link.id, error.summary[:MAX_REASON_LENGTH], error.code)
                continue
            self._join_account(link)
            if link.rights != before:
                changed.append((link, before))
        return changed

    def change_lengths(self) -> None:
        """Announce the lengths of links again: the settings have changed."""
        self.changes += 1

    def _join_account(self, link: Link) -> None:
        if link.account:
            self._by_account.setdefault(link.account, []).append(link.id)

    def _check(self, hello: Hello) -> None:
        own = self._own_hello
        lowest = VERSION if hello.role == "router" else OLDEST_CLIENT
        if hello.low > VERSION or hello.high < lowest:
            raise WireError(
                f"no common protocol version: the peer supports {hello.low} to {hello.high}, this router "
                f"{lowest} to {VERSION} for {hello.role}s",
                ReasonCode.VERSION,
            )
        if hello.network != own.network:
            raise WireError(f"this is network {own.network!r}, not {hello.network!r}", ReasonCode.OTHER_NETWORK)
        if hello.role == "router" and hello.name == own.name:
            if hello.incarnation != own.incarnation:  # else this router has dialled itself
                reason = f"a neighbour is named {own.name!r} too; rename one of them"
                self._context.warn("duplicate name", name=own.name, reason=reason)
            raise WireError(f"the name {own.name!r} belongs to this router itself", ReasonCode.NAME)
        if hello.role == "router" and hello.scheme != own.scheme:
            reason = f"this network uses the routing scheme {own.scheme}, not {hello.scheme}"
            raise WireError(reason, ReasonCode.SCHEME)
        incarnation, until = self._refused.get(hello.name, (0, 0.0)) if hello.role == "router" else (0, 0.0)
        if hello.incarnation == incarnation and self._context.now < until:
            seconds = until - self._context.now
            reason = f"{hello.name} did not announce anything over its last links; refused for {seconds:.0f} s"
            raise WireError(reason, ReasonCode.SILENT)
        is_new = hello.role == "router" and hello.name not in self._by_neighbour
        if is_new and len(self._by_neighbour) >= MAX_NEIGHBOURS:
            raise WireError(f"this router has {MAX_NEIGHBOURS:,} neighbours, which is the maximum", ReasonCode.LIMIT)

    def leave(self) -> None:
        """Announce the maximum length for all links from now on: messages take other paths, if there are any."""
        self.changes += not self.is_leaving
        self.is_leaving = True

    def refuse(self, neighbour: str, incarnation: int, until: float) -> None:
        """Refuse links to an incarnation of a neighbour until the time `until`."""
        self._refused[neighbour] = incarnation, until

    def shut(self, link: int, reason: str, code: ReasonCode) -> None:
        """Close a link from this side."""
        if link in self._all:
            self._context.outbox.shut(link, reason, code)
            self.remove(link)

    def remove(self, link: int) -> None:
        """Remove a link that is closed."""
        removed = self._all.pop(link, None)
        if removed is None:
            return
        removed.is_open = False
        if removed.is_router and removed.hello is not None:
            parallel = self._by_neighbour[removed.hello.name]
            parallel.remove(removed)
            if not parallel:
                del self._by_neighbour[removed.hello.name]
            del self._by_session[removed.session]
            self.changes += 1
        links = self._by_account.get(removed.account, [])
        if link in links:
            links.remove(link)
            if not links:
                del self._by_account[removed.account]
        self._traffic.add_closed(removed)
        for closed in self.on_closed:
            closed(removed)

    def check_liveness(self) -> None:
        """Ping silent peers; close the links of peers that do not answer."""
        now = self._context.now
        for link in list(self._all.values()):
            silence = now - link.last_received
            if silence >= self._context.settings.dead:
                self._context.counters[Event.LINKS_DEAD] += link.is_router
                missing = "nothing" if link.hello else "no Hello"
                reason = f"{missing} received for {self._context.settings.dead:g} s"
                self.shut(link.id, reason, ReasonCode.SILENT)
            elif link.hello is not None and min(silence, now - link.last_ping) >= self._context.settings.heartbeat:
                self._ping(link)

    def ping(self, link: int) -> int:
        """Ping a peer, if its link is open; return the number of the ping."""
        known = self._all.get(link)
        if known is not None:
            self._ping(known)
        return self._pings

    def _ping(self, link: Link) -> None:
        self._pings += 1
        link.last_ping = self._context.now
        self._context.outbox.send(link.id, Ping(self._pings))
