"""Messages of durable subscriptions that operators look at, move and remove, a page at a time.

    peek     read from the journal ──► sent to the client; no consumer notices
    move     read from the journal ──► added to the log for the other subscription, and removed here, in one transaction
    purge    removed

A page is bounded, so that none delays others; the client requests the next one. Predicates are tested by the client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from cbnet.errors import InputError
from cbnet.network.durable.home_log.journal import Entry
from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.durable.home_log.log import Log
from cbnet.network.durable.subscriptions.dead_letters import Subscriptions, without_mark
from cbnet.network.durable.subscriptions.durable_subscription import DurableSubscription
from cbnet.network.link.context import RouterContext
from cbnet.network.protocol import frames
from cbnet.network.protocol.fields import MAX_REASON_LENGTH
from cbnet.network.protocol.reasons import ReasonCode, Refusal, refused

_READ_MESSAGES, _READ_BYTES = 256, 1 << 20  # in a page that is read from the journal; a larger message is read alone
_VISITED = 10_000  # offsets, in a page


class PeekedPage(NamedTuple):
    """Messages of a subscription, by offset."""

    offsets: Sequence[int]
    next: int  # offset where the next page begins; 0: there is none
    end: int  # offset before which the last page ends


class StoredMessages:
    """The messages of the durable subscriptions of one home."""

    def __init__(
        self,
        context: RouterContext,
        queue: JournalQueue,
        log: Log,
        subscriptions: Subscriptions,
        on_removed: Callable[[DurableSubscription], None],
    ) -> None:
        """Initialise; on_removed: called when messages of a subscription were removed, so that others have room."""
        self._context = context
        self._queue = queue
        self._log = log
        self._subscriptions = subscriptions
        self._on_removed = on_removed
        self._reading: set[int] = set()  # links with a page that is being read

    def peek(self, link: int, frame: frames.DurablePeek, source: DurableSubscription) -> None:
        """Send a client messages of a subscription."""
        page = _page(source, _from(frame.first, frame.end, source), min(frame.count, _READ_MESSAGES), _READ_BYTES)

        def send(entries: Iterable[tuple[int, Entry]]) -> None:
            fields = [frames.StoredField(offset, source.deliveries(offset), *entry[2:]) for offset, entry in entries]
            self._context.outbox.send(link, frames.DurablePeeked(frame.number, fields, page.next, page.end))

        self._read(link, frame, source, page, send)

    def move(
        self, link: int, frame: frames.DurableMove, source: DurableSubscription, target: DurableSubscription
    ) -> None:
        """Move messages to another subscription, and answer when that is on disk."""
        if source is target:
            raise InputError(f"{frame.name} and {frame.to} are the same durable subscription", hint="name another one")
        page = _page(source, _chosen(frame, source), min(frame.count or _READ_MESSAGES, _READ_MESSAGES), _READ_BYTES)

        def move(entries: Iterable[tuple[int, Entry]]) -> None:
            moved = 0
            problem = ""
            for offset, entry in entries:
                content = without_mark(entry.content)
                problem = self._problem(target, len(content))
                if problem:
                    break
                source.remove([offset])
                target.add_copy(entry, content)
                moved += 1
            self._removed(link, frame, source, page, moved, problem)

        self._read(link, frame, source, page, move)

    def purge(self, link: int, frame: frames.DurablePurge, source: DurableSubscription) -> None:
        """Remove messages, and answer when that is on disk."""
        page = _page(source, _chosen(frame, source), min(frame.count or _VISITED, _VISITED))
        source.remove(page.offsets)
        self._removed(link, frame, source, page, len(page.offsets))

    # --- inside

    def _read(
        self, link: int, frame: frames.DurablePeek | frames.DurableMove, source: DurableSubscription, page: PeekedPage,
        then: Callable[[Iterable[tuple[int, Entry]]], None],
    ) -> None:  # fmt: skip
        """Read a page, and call a function with those of its messages that are not acknowledged meanwhile."""
        if link in self._reading:
            raise Refusal("another page is being read for this client", ReasonCode.LIMIT, hint="wait for its answer")
        self._reading.add(link)
        positions = {offset: source.cursor.position(offset) for offset in page.offsets}

        def read(found: Mapping[int, Entry], _: float) -> None:
            self._reading.discard(link)
            if self._subscriptions.get(source.owner) is not source:
                gone = Refusal(f"durable subscription {source.saved.name!r} was removed", ReasonCode.REMOVED)
                self._context.outbox.send(link, refused(frames.frame_number(type(frame)), frame.number, gone))
                return
            present = [at for at in page.offsets if at in source.cursor and positions[at] in found]
            then((at, found[positions[at]]) for at in present)

        self._log.read([*positions.values()], read, source.saved.account)

    def _problem(self, target: DurableSubscription, size: int) -> str:
        if self._subscriptions.get(target.owner) is not target:
            return f"durable subscription {target.saved.name!r} was removed"
        return self._queue.refusal or target.refusal_of_copy(size)

    def _removed(
        self, link: int, frame: frames.DurableMove | frames.DurablePurge, source: DurableSubscription, page: PeekedPage,
        messages: int, problem: str = "",
    ) -> None:  # fmt: skip
        """Answer a client when the removal of messages is on disk."""
        self._on_removed(source)
        answer = frames.DurableTaken(frame.number, messages, page.next, page.end, problem[:MAX_REASON_LENGTH])
        self._queue.after(partial(self._context.outbox.send, link, answer))


def _from(first: int, end: int, source: DurableSubscription) -> range:
    return range(max(first, source.cursor.first), min(end or source.cursor.next, source.cursor.next))


def _chosen(frame: frames.DurableMove | frames.DurablePurge, source: DurableSubscription) -> Sequence[int]:
    return sorted({*frame.offsets}) if frame.offsets else _from(frame.first, frame.end, source)


def _page(source: DurableSubscription, offsets: Sequence[int], count: int, size: float = float("inf")) -> PeekedPage:
    """Return the first of some offsets that are of messages on disk and not acknowledged."""
    end = offsets[-1] + 1 if offsets else 0
    chosen: list[int] = []
    for visited, offset in enumerate(offsets):
        if len(chosen) == count or size <= 0 or visited == _VISITED:
            return PeekedPage(chosen, offset, end)
        if offset not in source.cursor:
            continue
        if not source.is_on_disk(offset):
            break
        chosen.append(offset)
        size -= source.cursor.size(offset)
    return PeekedPage(chosen, 0, end)
