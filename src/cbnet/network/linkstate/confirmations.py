"""Confirmations: has every router that can be reached the predicate of this one? What `subscribe(wait)` waits for.

The same for its offers, and `offer(wait)`.

A router that installs a change whose owner wants to know tells it: `Seen`. Those from which nothing has come are
asked again and again, until all have answered or the time is up.
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

# The answers to who subscribes, and to who offers.
REGISTERED: dict[RecordKind, type[Subscribed | Offered]] = {
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
    missing: set[str] = field(default_factory=set)  # routers that are not known to have the version


class Confirmations:
    """Who waits, and who has told what it has seen."""

    def __init__(
        self, context: RouterContext, database: Database, views: ViewHistory, unicast: UnicastForwarder
    ) -> None:
        self._context = context
        self._database = database
        self._views = views
        self._unicast = unicast
        self._waiting: list[_Waiting] = []
        self.is_due = False  # whether it is to be looked whom each waits for: now and then, and for new ones
        self._seen: dict[Key, tuple[int, Version]] = {}  # a router, kind of record -> its life, what it has of ours
        self._asked = float("-inf")

    # --- at the router that waits

    def wait(self, link: int, id: int, awaited: PendingVersion, seconds: float) -> None:
        """Answer a client when all have a version of a record of this router, or the time is up."""
        self._asked = self._context.now if awaited.is_told else float("-inf")
        now = self._context.now
        self._waiting.append(_Waiting(link, id, awaited.kind, awaited.version, now, now + seconds))
        self.is_due = True

    def forget(self, link: int, kind: RecordKind | None = None, id: int | None = None) -> None:
        """No longer wait for a client that is gone, or for a subscription or an offer of it."""
        self._waiting = [
            each
            for each in self._waiting
            if each.link != link or (kind is not None and (kind, id) != (each.kind, each.id))
        ]

    def seen(self, frame: RecordAck) -> None:
        """Note what another router has, and answer those who waited for it alone."""
        if self._database.version(Key(frame.router, RecordKind.LINKS)) is None:
            return  # nobody who is known
        seen = Key(frame.router, RecordKind(frame.kind))
        life, before = self._seen.get(seen, (None, None))
        version = Version(frame.sequence, frame.life)
        if before is None or frame.router_life != life or version > before:
            self._seen[seen] = frame.router_life, version
        for each in self._waiting:
            if frame.router in each.missing and self._has(frame.router, each.kind, each.version):
                each.missing.remove(frame.router)
        self._answer_all()

    def is_known(self, version: Version) -> bool:
        """Return whether all routers that can be reached have told that they have a version of the predicate."""
        return not self._missing(RecordKind.PREDICATE, version)

    def remind(self, version: Version) -> None:
        """Ask those who have not told that they have a version of the predicate."""
        others = self._missing(RecordKind.PREDICATE, version) - {self._context.name}
        self._ask({(router, RecordKind.PREDICATE) for router in others})

    def check(self) -> None:
        """If it is due, look whom each waits for, as far as the network reaches now; ask those who are missing."""
        if not self.is_due:
            return
        self.is_due = False
        for each in self._waiting:
            each.missing = self._missing(each.kind, each.version)
        self._answer_all()
        self._ask({(router, each.kind) for each in self._waiting for router in each.missing})

    def _ask(self, missing: set[tuple[str, RecordKind]]) -> None:
        """Ask routers for a kind of record, unless some were asked just now."""
        now = self._context.now
        if missing and now - self._asked >= self._context.settings.retry:
            self._asked = now
            for router, kind in sorted(missing):
                self._unicast.send(AckRequest(router, 0, self._context.name, kind))

    def _answer_all(self) -> None:
        """Answer those who need not wait any longer."""
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
        away = {router for router in self._database.routers() if router not in view.ids}
        have = len(view.ids.keys() - each.missing)
        answer = REGISTERED[each.kind](each.id, not each.missing, have, sorted(each.missing | away))
        self._context.outbox.send(each.link, answer)

    def _missing(self, kind: RecordKind, version: Version) -> set[str]:
        """Return the routers that can be reached and have not told that they have a version."""
        missing = {router for router in self._views.current().ids if not self._has(router, kind, version)}
        own = self._database.version(Key(self._context.name, kind))
        return missing - {self._context.name} if own is not None and own >= version else missing

    def _has(self, router: str, kind: RecordKind, version: Version) -> bool:
        life, seen = self._seen.get(Key(router, kind), (None, version))
        present = self._database.version(Key(router, RecordKind.LINKS))
        return present is not None and present.life == life and seen >= version

    # --- at the others

    def installed(self, key: Key, version: Version) -> None:
        """Tell an owner that a version of its predicate, or offers, is here."""
        seen = RecordAck(
            to=key.owner,
            hops=0,
            router=self._context.name,
            router_life=self._context.life,
            life=version.life,
            sequence=version.sequence,
            kind=key.kind,
        )
        self._unicast.send(seen)

    def asked(self, frame: AckRequest) -> None:
        """Tell a router which version of its predicate, or offers, is here."""
        key = Key(frame.router, RecordKind(frame.kind))
        version = self._database.version(key)
        if version is not None:
            self.installed(key, version)
