"""Confirmations that a subscription or an offer has reached every router that must know it: `subscribe(wait)`.

A client is answered when each stream that announces its filters, or filters that cover them, is acknowledged by all
routers downstream, in the newest version of the topology; or after its timeout, with the links that have not answered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import count
from math import inf

from cbnet.language.relations.normal_form import normalised
from cbnet.network.announce.acknowledgements import Acknowledgements
from cbnet.network.announce.exports import OTHER_DOMAINS, Exports
from cbnet.network.announce.silent_neighbours import SilentNeighbours
from cbnet.network.announce.streams import Needs, Outgoing, StreamTable
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.counters import Event
from cbnet.network.protocol.frames import Offered, Subscribed

SUBSCRIPTION, OFFER = 0, 1  # kinds, as in `StreamTable.kinds`
_MIN_ENTRIES = 1_000  # in the heaps, below which those of clients that no longer wait are not purged
CONFIRMATION_FRAMES: tuple[type[Subscribed | Offered], ...] = (Subscribed, Offered)


@dataclass(eq=False)
class _Waiting:
    answer: Callable[[list[str]], None]  # called with the missing links
    to_domains: bool  # whether the other domains of this router's gateway must confirm, too
    deadline: float = inf
    client: tuple[int, int, int] | None = None  # link, kind and id
    filters: Collection[bytes] | None = None  # encoded; None: everything that this router announces
    needs: Needs = field(default_factory=dict)  # set at the end of the turn


class Confirmations:
    """The clients and gateways that wait for a confirmation.

    Each is queued under one stream that has not acknowledged a change it needs, in the order of changes. So an
    acknowledgement concerns only a few of them.
    """

    def __init__(
        self,
        core: RouterCore,
        streams: StreamTable,
        exports: Exports,
        acknowledgements: Acknowledgements,
        silent: SilentNeighbours,
    ) -> None:
        self._context = core
        self._database = core.database
        self._versions = core.versions
        self._streams = streams
        self._exports = exports
        self._acknowledgements = acknowledgements
        self._silent = silent
        self._waiting: dict[_Waiting, None] = {}
        self._new: dict[_Waiting, None] = {}  # of this turn
        self._by_client: dict[int, dict[tuple[int, int], _Waiting]] = {}  # by link, then kind and id; waiting and new
        self._under: dict[Outgoing, list[tuple[int, int, _Waiting]]] = {}  # heaps, ordered by change
        self._entries = 0  # in all heaps, with stale ones of clients that no longer wait
        self._order = count()
        self._state: tuple[object, ...] = ()  # of versions and streams, when all were last examined

    def wait(
        self,
        link: int,
        id: int,
        kind: int,
        filters: Collection[bytes],
        timeout: float,
        waits_on: Callable[[], bool] = lambda: False,
    ) -> None:
        """Answer a client once its filters are confirmed, or after the timeout.

        waits_on: called when they are confirmed; returns True if the client must wait for something else first.
        """
        since = self._context.now
        answer = partial(self._answer, link, id, kind, since, waits_on)
        self.cancel(link, kind, id)
        each = _Waiting(answer, True, since + timeout, (link, kind, id), filters)
        self._by_client.setdefault(link, {})[kind, id] = each
        self._new[each] = None

    def watch(self, on_confirmed: Callable[[], None]) -> None:
        """Call a function once all that this router announces at the end of this turn is confirmed in its domain.

        Other domains need not confirm it: their own filters are not announced back to them.
        """
        self._new[_Waiting(lambda _: on_confirmed(), to_domains=False)] = None

    def cancel(self, link: int, kind: int, id: int) -> None:
        """Cancel the pending confirmation of a client's subscription or offer."""
        each = self._by_client.get(link, {}).get((kind, id))
        if each is not None:
            self._end(each)

    def remove_client(self, link: int) -> None:
        """Cancel all pending confirmations of a client."""
        for each in list(self._by_client.get(link, {}).values()):
            self._end(each)

    def _end(self, each: _Waiting) -> None:
        self._waiting.pop(each, None)
        self._new.pop(each, None)
        if each.client is not None:
            link, kind, id = each.client
            waiting = self._by_client[link]
            del waiting[kind, id]
            if not waiting:
                del self._by_client[link]

    def finish_turn(self) -> None:
        """Answer the clients and gateways whose filters are confirmed now."""
        advanced, self._acknowledgements.advanced = self._acknowledgements.advanced, {}
        new, self._new = self._new, {}
        for each in new:
            each.needs = self._needs(each)
            self._waiting[each] = None
        export = self._exports.current
        exported = self._exports.is_exporting if export is None else (export, export.acked)
        state = (self._streams.generation, self._versions.newest.id, self._versions.is_outdated, exported)
        if state != self._state or self._entries > 2 * len(self._waiting) + _MIN_ENTRIES:
            self._state = state
            self._under.clear()
            self._entries = 0
            due = list(self._waiting)
        else:
            due = [*new, *(each for stream in advanced for each in self._released(stream))]
        for each in due:
            if each in self._waiting:
                self._examine(each)

    def check_deadlines(self) -> None:
        """Answer the clients whose timeout has expired."""
        for each in [each for each in self._waiting if self._context.now >= each.deadline]:
            self._end(each)
            each.answer(self.missing(each.needs, to_domains=each.to_domains))

    def _released(self, stream: Outgoing) -> list[_Waiting]:
        """Dequeue and return those that waited under a stream for changes that it has acknowledged."""
        heap = self._under.get(stream, [])
        reached = min(stream.acked, stream.stamped.get(self._versions.newest.id, stream.acked))
        released = []
        while heap and heap[0][0] <= reached:
            released.append(heappop(heap)[2])
            self._entries -= 1
        return released

    def _examine(self, each: _Waiting) -> None:
        """Answer a client whose filters are confirmed; otherwise queue it under the stream that blocks it, if any."""
        blocking = self._blocking(each)
        if blocking is not None:
            stream, change = blocking
            heappush(self._under.setdefault(stream, []), (change, next(self._order), each))
            self._entries += 1
        elif not self.missing(each.needs, to_domains=each.to_domains):
            self._end(each)
            each.answer([])

    def _blocking(self, each: _Waiting) -> tuple[Outgoing, int] | None:
        """Return a stream that has not acknowledged a needed change, and that change; None if there is none."""
        for stream, needed in each.needs.items():
            if not stream.has(needed):
                return stream, needed
        version = self._versions.newest
        for link in version.links():
            stream_to = self._streams.to_side(link) if link.announces else None
            if stream_to is not None:
                needed = max(1, each.needs.get(stream_to, 0))
                if not stream_to.is_stamped(version.id, needed):
                    return stream_to, needed
        return None

    def missing(self, needs: Needs, *, to_domains: bool = False) -> list[str]:
        """Return the links that have not acknowledged these changes in the newest version, as in r1→r2.

        to_domains: also this router's gateway, if it exports them and other domains have not confirmed them.
        """
        version, me = self._versions.newest, self._context.name
        missing: set[str] = set()
        has_unopened = False
        for stream in (stream for stream, needed in needs.items() if not stream.has(needed)):
            missing.update(stream.waiting or [f"{me}→{stream.key.neighbour}"])
        for link in (each for each in version.links() if each.announces):
            announcing = self._streams.to_side(link)
            if announcing is None:
                has_unopened = True
            elif not announcing.is_stamped(version.id, needs.get(announcing, 0)):
                missing.update(announcing.waiting or [f"{me}→{link.neighbour}"])
        for _, unopened, awaited in self._silent.unopened() if has_unopened else ():
            missing.update(awaited or [f"{me}→{unopened.neighbour}"])
        if to_domains and self._exports.is_exporting:
            export = self._exports.current
            if export is None or not export.is_stamped(0, needs.get(export, 0)):
                missing.add(f"{me}→{OTHER_DOMAINS}")
        if not missing and self._versions.is_outdated:
            return [me]  # it has not adopted the newest records
        return sorted(missing)

    def _needs(self, waiting: _Waiting) -> dict[Outgoing, int]:
        """Return the changes that announce the filters of a client, or filters that cover them."""
        export = self._exports.current
        streams = (*self._streams.outgoing.values(), *(() if export is None or not waiting.to_domains else (export,)))
        if waiting.filters is None or waiting.client is None:
            return {stream: stream.sequence for stream in streams}
        filters = [form for encoded in waiting.filters if (form := normalised(encoded)) is not None]
        number = waiting.client[1]
        kind = self._streams.kinds[number]
        needs: dict[Outgoing, int] = {}
        for stream in streams:
            oldest = max(1, stream.settled)
            announced = (kind.announced(stream, each) for each in filters)
            changes = (
                # the last change, if the search for a covering filter was abandoned
                stream.sequence if each is None else stream.since.get((number, each), oldest)
                for each in announced
            )
            needs[stream] = max(changes, default=oldest)
        return needs

    def _answer(
        self, link: int, id: int, kind: int, since: float, waits_on: Callable[[], bool], missing: list[str]
    ) -> None:
        if not missing and waits_on():
            return
        result, total = (Event.UNCONFIRMED, Event.UNCONFIRMED_MS) if missing else (Event.CONFIRMED, Event.CONFIRMED_MS)
        self._context.counters[result] += 1
        self._context.counters[total] += round(1000 * (self._context.now - since))
        names = self._versions.newest.names
        unreachable = [router for router in self._database.routers() if router not in names]
        frame = CONFIRMATION_FRAMES[kind](id, not missing, len(names), [*missing, *unreachable])
        self._context.outbox.send(link, frame)
