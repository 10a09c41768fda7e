"""Confirmations that every reachable router has this router's predicate or offers, as `subscribe(wait)` needs.

A router that installs a change whose owner wants an acknowledgement sends a `RecordAck`. Routers that have not
acknowledged are asked again, until all have or the timeout expires.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Event
from cbnet.network.linkstate.database import Database
from cbnet.network.linkstate.own_records import PendingVersion
from cbnet.network.linkstate.records import Key, RecordKind, Version
from cbnet.network.linkstate.unicast import UnicastForwarder
from cbnet.network.linkstate.view import ViewHistory
from cbnet.network.protocol.frames import AckRequest, Offered, RecordAck, Subscribed

# The frames that confirm a subscription and an offer.
CONFIRMATION_FRAMES: dict[RecordKind, type[Subscribed | Offered]] = {
    RecordKind.PREDICATE: Subscribed,
    RecordKind.OFFERS: Offered,
}


@dataclass
class _Waiting:
    link: int
    id: int
    kind: RecordKind
    version: Version
    since: float
    deadline: float
    missing: set[str] = field(default_factory=set)  # routers that have not acknowledged the version


class Confirmations:
    """Waiting clients, and the versions that other routers have acknowledged."""

    def __init__(
        self, context: RouterContext, database: Database, views: ViewHistory, unicast: UnicastForwarder
    ) -> None:
        self._context = context
        self._database = database
        self._views = views
        self._unicast = unicast
        self._waiting: list[_Waiting] = []
        self.is_due = False  # whether `check` must compute the missing routers anew
        self._acknowledged: dict[Key, tuple[int, Version]] = {}  # (router, kind) -> its life, its version of ours
        self._last_request = float("-inf")

    # --- at the owner

    def wait(self, link: int, id: int, pending: PendingVersion, timeout: float) -> None:
        """Answer a client when all routers have a version of an own record, or after the timeout."""
        self._last_request = self._context.now if pending.wants_ack else float("-inf")
        now = self._context.now
        self._waiting.append(_Waiting(link, id, pending.kind, pending.version, now, now + timeout))
        self.is_due = True

    def cancel(self, link: int, kind: RecordKind | None = None, id: int | None = None) -> None:
        """Stop waiting for a client, or only for one of its subscriptions or offers."""
        self._waiting = [
            each
            for each in self._waiting
            if each.link != link or (kind is not None and (kind, id) != (each.kind, each.id))
        ]

    def record(self, frame: RecordAck) -> None:
        """Record an acknowledgement, and answer clients for which it was the last."""
        if self._database.version(Key(frame.router, RecordKind.LINKS)) is None:
            return  # an unknown router
        key = Key(frame.router, RecordKind(frame.kind))
        life, before = self._acknowledged.get(key, (None, None))
        version = Version(frame.sequence, frame.life)
        if before is None or frame.router_life != life or version > before:
            self._acknowledged[key] = frame.router_life, version
        for each in self._waiting:
            if frame.router in each.missing and self._has(frame.router, each.kind, each.version):
                each.missing.remove(frame.router)
        self._answer_all()

    def is_confirmed(self, version: Version) -> bool:
        """Return whether all reachable routers have acknowledged a version of the predicate."""
        return not self._missing(RecordKind.PREDICATE, version)

    def request_acks(self, version: Version) -> None:
        """Request missing acknowledgements of a version of the predicate."""
        routers = self._missing(RecordKind.PREDICATE, version) - {self._context.name}
        self._request({(router, RecordKind.PREDICATE) for router in routers})

    def check(self) -> None:
        """If due, compute the missing routers in the present topology, and request their acknowledgements."""
        if not self.is_due:
            return
        self.is_due = False
        for each in self._waiting:
            each.missing = self._missing(each.kind, each.version)
        self._answer_all()
        self._request({(router, each.kind) for each in self._waiting for router in each.missing})

    def _request(self, missing: set[tuple[str, RecordKind]]) -> None:
        """Request acknowledgements, unless some were requested just now."""
        now = self._context.now
        if missing and now - self._last_request >= self._context.settings.retry:
            self._last_request = now
            for router, kind in sorted(missing):
                self._unicast.send(AckRequest(router, 0, self._context.name, kind))

    def _answer_all(self) -> None:
        """Answer the clients that are confirmed or timed out."""
        done = [each for each in self._waiting if not each.missing or self._context.now >= each.deadline]
        if done:
            self._waiting = [each for each in self._waiting if each not in done]
        for each in done:
            self._answer(each)

    def _answer(self, each: _Waiting) -> None:
        count, total = (
            (Event.UNCONFIRMED, Event.UNCONFIRMED_MS) if each.missing else (Event.CONFIRMED, Event.CONFIRMED_MS)
        )
        self._context.counters[count] += 1
        self._context.counters[total] += round(1000 * (self._context.now - each.since))
        view = self._views.current()
        unreachable = {router for router in self._database.routers() if router not in view.ids}
        confirmed = len(view.ids.keys() - each.missing)
        answer = CONFIRMATION_FRAMES[each.kind](
            each.id, not each.missing, confirmed, sorted(each.missing | unreachable)
        )
        self._context.outbox.send(each.link, answer)

    def _missing(self, kind: RecordKind, version: Version) -> set[str]:
        """Return the reachable routers that have not acknowledged a version."""
        missing = {router for router in self._views.current().ids if not self._has(router, kind, version)}
        own = self._database.version(Key(self._context.name, kind))
        return missing - {self._context.name} if own is not None and own >= version else missing

    def _has(self, router: str, kind: RecordKind, version: Version) -> bool:
        life, acknowledged = self._acknowledged.get(Key(router, kind), (None, version))
        present = self._database.version(Key(router, RecordKind.LINKS))
        return present is not None and present.life == life and acknowledged >= version

    # --- at other routers

    def acknowledge(self, key: Key, version: Version) -> None:
        """Acknowledge a version of another router's predicate or offers."""
        ack = RecordAck(
            to=key.owner,
            hops=0,
            router=self._context.name,
            router_life=self._context.life,
            life=version.life,
            sequence=version.sequence,
            kind=key.kind,
        )
        self._unicast.send(ack)

    def answer(self, frame: AckRequest) -> None:
        """Answer a request for an acknowledgement."""
        key = Key(frame.router, RecordKind(frame.kind))
        version = self._database.version(key)
        if version is not None:
            self.acknowledge(key, version)
