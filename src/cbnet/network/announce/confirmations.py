"""Confirmations that every router that must know of a subscription or an offer does, as `subscribe(wait)` needs.

A client is answered when each stream that announces the filters, or others that cover them, is acknowledged from all
that is beyond, in the newest version of the topology; or after its timeout, with the links that have not answered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from cbnet.language.filter import Filter
from cbnet.network.announce.aggregation import normalised
from cbnet.network.announce.exports import OTHER_DOMAINS, Exports
from cbnet.network.announce.stream_table import StreamTable
from cbnet.network.announce.streams import Needs, Outgoing
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Event
from cbnet.network.linkstate.database import Database
from cbnet.network.linkstate.versions import Versions
from cbnet.network.protocol.frames import Offered, Subscribed

SUBSCRIPTION, OFFER = 0, 1  # kinds, as in `StreamTable.kinds`
CONFIRMATION_FRAMES: tuple[type[Subscribed | Offered], ...] = (Subscribed, Offered)


@dataclass
class _Waiting:
    link: int
    id: int
    kind: int
    filters: Collection[Filter]
    since: float
    deadline: float
    needs: Needs | None = None  # set at the end of the turn


class Confirmations:
    """The clients that wait for a confirmation."""

    def __init__(
        self, context: RouterContext, database: Database, versions: Versions, streams: StreamTable, exports: Exports
    ) -> None:
        self._context = context
        self._database = database
        self._versions = versions
        self._streams = streams
        self._exports = exports
        self._waiting: list[_Waiting] = []
        self._watching: list[tuple[Callable[[], None], Needs]] = []  # for gateways
        self._new_watches: list[Callable[[], None]] = []  # of this turn

    def wait(self, link: int, id: int, kind: int, filters: Collection[Filter], timeout: float) -> None:
        """Answer a client when its filters are known, or after the timeout."""
        now = self._context.now
        self._waiting.append(_Waiting(link, id, kind, filters, now, now + timeout))

    def watch(self, on_confirmed: Callable[[], None]) -> None:
        """Call when all that this router announces at the end of this turn is known in its domain."""
        self._new_watches.append(on_confirmed)

    def cancel(self, link: int, kind: int | None = None, id: int | None = None) -> None:
        """Stop waiting for a client, or only for one of its subscriptions or offers."""
        self._waiting = [
            each
            for each in self._waiting
            if each.link != link or (kind is not None and (kind, id) != (each.kind, each.id))
        ]

    def finish_turn(self) -> None:
        """Answer the clients that are confirmed, or whose timeout has expired."""
        self._check_watches()
        if not self._waiting:
            return
        kept: list[_Waiting] = []
        for each in self._waiting:
            if each.needs is None:
                each.needs = self._needs(each)
            missing = self.missing(each.needs, to_domains=True)
            if missing and self._context.now < each.deadline:
                kept.append(each)
            else:
                self._answer(each, missing)
        self._waiting = kept

    def missing(self, needs: Needs, *, to_domains: bool = False) -> list[str]:
        """Return the links that have not acknowledged these changes in the newest version, as in r1→r2.

        to_domains: also the gateway at this router, if it passes them on and other domains have not confirmed them.
        """
        version, me = self._versions.newest, self._context.name
        missing: set[str] = set()
        for stream in (stream for stream, needed in needs.items() if not stream.has(needed)):
            missing.update(stream.waiting or [f"{me}→{stream.key.neighbour}"])
        for link in (each for each in version.links() if each.tells):
            announcing = self._streams.to_side(link)
            if announcing is None:
                missing.add(f"{me}→{link.neighbour}")
            elif not announcing.is_stamped(version.id, needs.get(announcing, 0)):
                missing.update(announcing.waiting or [f"{me}→{link.neighbour}"])
        if to_domains and self._exports.is_telling:
            export = self._exports.current
            if export is None or not export.is_stamped(0, needs.get(export, 0)):
                missing.add(f"{me}→{OTHER_DOMAINS}")
        if not missing and self._versions.is_outdated:
            return [me]  # it has not adopted the newest records
        return sorted(missing)

    def _check_watches(self) -> None:
        """Call those who watch for confirmations. What comes from other domains is not told them again."""
        if self._new_watches:
            needs: Needs = {stream: stream.sequence for stream in self._streams.outgoing.values()}
            self._watching += [(watch, needs) for watch in self._new_watches]
            self._new_watches = []
        if self._watching:
            watching, self._watching = self._watching, []
            for watch, needs in watching:
                if self.missing(needs):
                    self._watching.append((watch, needs))
                else:
                    watch()

    def _needs(self, waiting: _Waiting) -> dict[Outgoing, int]:
        """Return the changes that announce the filters of a client, or others that cover them."""
        filters = [encoded for filter in waiting.filters if (encoded := normalised(filter)) is not None]
        kind = self._streams.kinds[waiting.kind]
        needs: dict[Outgoing, int] = {}
        export = self._exports.current
        for stream in (*self._streams.outgoing.values(), *(() if export is None else (export,))):
            oldest = max(1, stream.settled)
            announced = (kind.announced(stream, each) for each in filters)
            changes = (stream.since.get((waiting.kind, each), oldest) for each in announced if each is not None)
            needs[stream] = max(changes, default=oldest)
        return needs

    def _answer(self, each: _Waiting, missing: list[str]) -> None:
        count, total = (Event.UNCONFIRMED, Event.UNCONFIRMED_MS) if missing else (Event.CONFIRMED, Event.CONFIRMED_MS)
        self._context.counters[count] += 1
        self._context.counters[total] += round(1000 * (self._context.now - each.since))
        names = self._versions.newest.names
        unreachable = [router for router in self._database.routers() if router not in names]
        frame = CONFIRMATION_FRAMES[each.kind](each.id, not missing, len(names), [*missing, *unreachable])
        self._context.outbox.send(each.link, frame)
