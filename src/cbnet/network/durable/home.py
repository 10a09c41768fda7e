"""Home of durable subscriptions: the messages that a router stores, and its answers to their publishers.

    packet ──► seen before? ──no──► is its predecessor settled? ──yes──► is there room? ──yes──► stored
                   │ yes                │ no: held back                       │ no                 │ on disk
                   ▼                    ▼ until the source sends again        ▼                    ▼
                answered                                                   refused              answered

A message of a durable publisher names its predecessor that this home must store, if that is not settled. So the
messages of a publisher are stored in the order of their numbers, even if the network has reordered them. The numbers
stored are saved in the same transaction, so a message that is sent again is stored once. A full subscription of the
publisher's account refuses it for all; one of another account loses it (`judge`). A message that was refused for all
is refused again, as its publisher has received the refusal; these refusals are in memory only, until a restart.

A message is in the log of the home once, with the subscriptions that it matches. Plain messages are stored in the order
in which they arrive, without an answer. The history of the router is one of the subscriptions; answers do not count it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from cbnet.errors import UndecidedError
from cbnet.language.predicate import Predicate
from cbnet.language.search_budget import MAX_EXAMINED, SearchBudget
from cbnet.network.durable.home_log.journal import HISTORY_ID, SaveWindow
from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.durable.home_log.log import Log
from cbnet.network.durable.home_log.message_run import Run
from cbnet.network.durable.publisher_windows import PublisherWindow, PublisherWindows, RefusedMessages
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import DropReason, Event
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.durable_frames import MAX_REFUSING
from cbnet.network.protocol.fields import MAX_ENTRIES, MAX_REASON_LENGTH
from cbnet.network.protocol.frames import DurableMark, Packet, Refusals, Stored, StoredEntry

if TYPE_CHECKING:
    from cbnet.network.durable.histories.history import History
    from cbnet.network.durable.subscriptions.durable_subscription import DurableSubscription


LogReader: TypeAlias = "DurableSubscription | History"  # a subscription of the log


class HomeVerdict(NamedTuple):
    """Which subscriptions of a home store a message."""

    taking: Sequence[LogReader] = ()
    refusing: Sequence[LogReader] = ()  # of other accounts than the publisher's
    problem: str = ""  # why it is stored for none

    @property
    def refusals(self) -> Refusals | None:
        """The refusals of subscriptions of other accounts, if there are any."""
        if not self.refusing:
            return None
        return Refusals(len(self.refusing), [each.owner for each in self.refusing[:MAX_REFUSING]])


def judge(subscriptions: Sequence[LogReader], size: int, mark: DurableMark) -> HomeVerdict:
    """Return the verdict on a message of some size for the subscriptions that match it.

    refuses                                                     the message is
    a subscription of the publisher's account                   refused: stored for no subscription of this home
    one of another account that the publisher requires          refused
    others                                                      stored for the rest; the receipt counts the others

    A publisher may require all subscriptions. Clients without accounts share one.
    """
    reasons = {each.id: reason for each in subscriptions if (reason := each.refusal(size))}
    if not reasons:
        return HomeVerdict(subscriptions)
    refusing = [each for each in subscriptions if each.id in reasons]
    own = next((reasons[each.id] for each in refusing if each.owner[0] == mark.account), "")
    if own:
        return HomeVerdict(problem=own[:MAX_REASON_LENGTH])
    if mark.required is None:
        return HomeVerdict(refusing=refusing, problem=_refused_by(len(refusing)))
    required = next((each.owner for each in refusing if each.owner in mark.required), None)
    if required is not None:
        account, name = required
        return HomeVerdict(problem=f"durable subscription {name} of account {account!r} refuses it")
    return HomeVerdict([each for each in subscriptions if each.id not in reasons], refusing)


def _refused_by(count: int) -> str:
    subscriptions = "durable subscription" if count == 1 else "durable subscriptions"
    return f"{count:,} {subscriptions} of other accounts {'refuses' if count == 1 else 'refuse'} it"


_MAX_HELD_BYTES = 1 << 24  # of messages that are held back
_HELD_OVERHEAD = 1_000  # bytes of such a message without its content
_SETTLED = "its publisher waits for no answer any more, or it arrived before lost subscriptions were created again"
_HELD_AGE = 60.0  # seconds after which a held message is dropped unless its source sends it again

_encode = msgspec.msgpack.Encoder().encode
Answer: TypeAlias = tuple[str, StoredEntry]  # with the router where the message was published
AnswerKey: TypeAlias = tuple[str, int, int]  # that router, publisher and number


class _HeldPacket(NamedTuple):
    """A message whose predecessor has not arrived."""

    packet: Packet
    ids: Sequence[int]  # of subscriptions
    content: bytes
    time: float  # when it last arrived

    @property
    def size(self) -> int:
        """The approximate memory that it takes, in bytes."""
        return len(self.content) + _HELD_OVERHEAD


class Home:
    """The stored messages of one router."""

    def __init__(
        self,
        context: RouterContext,
        queue: JournalQueue,
        log: Log,
        windows: Iterable[SaveWindow],
        answer: Callable[[Stored], None],
    ) -> None:
        """Initialise; windows: those found on disk; answer: sends one, without the id of the journal."""
        self._context = context
        self._queue = queue
        self._log = log
        self._answer = answer
        self.subscriptions: dict[int, LogReader] = {}
        self._windows = PublisherWindows(context, queue, windows)
        self._refused = RefusedMessages()
        self._held: dict[int, dict[int, _HeldPacket]] = {}  # by publisher and number
        self._held_bytes = 0
        self._pending: set[AnswerKey] = set()  # answers that wait for the disk
        # of this turn:
        self._answers: dict[AnswerKey, StoredEntry] = {}
        self._refusals: list[Answer] = []

    # --- messages

    def take(self, packet: Packet, ids: Sequence[int]) -> None:
        """Store a message for some subscriptions; answer a publisher that waits, even if the message is a duplicate."""
        content = _encode((packet.attributes, packet.tags, packet.payload))
        if packet.durable is None:
            self._take_plain(packet, ids, content)
            return
        window = self._windows.of(packet.incarnation)
        if packet.durable.floor > window.floor:
            window.advance(packet.durable.floor)
            self._drop_held(packet.incarnation, range(window.floor))
            if packet.incarnation in self._windows:  # else only the refusal prevents a copy from being stored
                self._refused.advance(packet.incarnation, window.floor)
        self._take(window, _HeldPacket(packet, ids, content, self._context.now))

    def _take_plain(self, packet: Packet, ids: Iterable[int], content: bytes) -> None:
        taking: list[LogReader] = []
        for subscription in self._known(ids):
            problem = self._queue.refusal
            if problem or subscription.refusal(len(content)):
                subscription.refuse(None if problem else len(content))
                self._context.drop(DropReason.JOURNAL_FULL)
            else:
                taking.append(subscription)
        self._append(taking, packet, content)

    def take_run(
        self, run: Run, chosen: Mapping[int, Sequence[int]], publisher: int, source: str
    ) -> bool:  # fmt: skip
        """Store a run, which the caller answers; return False, without any effect, if not all of it can be stored.

        chosen: the subscriptions of each kind; publisher: its incarnation; source: the router where it publishes.
        """
        window = self._windows.of(publisher)
        is_known = publisher not in self._held and publisher not in self._refused and run.first >= window.top
        if not is_known or self._queue.refusal or self._windows.refusal(publisher):
            return False
        kinds_of: dict[int, tuple[int, ...]] = {}
        for kind, ids in chosen.items():
            for id in ids:
                kinds_of[id] = *kinds_of.get(id, ()), kind
        parts = {kinds: run.part(kinds) for kinds in {*kinds_of.values()}}
        readers = [(self.subscriptions[id], parts[of]) for id, of in kinds_of.items() if id in self.subscriptions]
        if len(readers) < len(kinds_of) or not all(
            reader.has_room(part.messages, part.bytes) for reader, part in readers
        ):
            return False
        entries = self._log.extend(chosen, run.kinds, source, publisher, run.first, run.contents)
        for part in parts.values():
            part.take(entries)
        for reader, part in readers:
            reader.extend(part)
        self._context.counters[Event.STORED] += sum(part.messages for _, part in readers)
        window.add_run(run.first, len(entries))
        window.advance(run.floor)
        self._windows.keep(window)
        return True

    def has_settled(self, publisher: int, number: int) -> bool:
        """Return whether a message of a publisher is stored or refused; number: 0: none."""
        is_stored = not number or self._windows.of(publisher).has(number)
        return is_stored or self._refused.answer(publisher, number) is not None

    def settle(self) -> None:
        """Refuse further copies of the stored messages: subscriptions are created again that match and lack them."""
        self._windows.settle()

    def lose(self, ids: Iterable[int]) -> None:
        """Count a message as lost for subscriptions: it is undecided whether it matches."""
        for subscription in self._known(ids):
            subscription.refuse()

    def _take(self, window: PublisherWindow, held: _HeldPacket) -> None:
        """Store a message of a durable publisher, and those that were held back for it."""
        due = [held]
        for each in due:  # grows during the loop
            packet, number = each.packet, each.packet.number
            if number < window.floor:
                self._refuse(packet, HomeVerdict(problem=_SETTLED))  # it may be stored or not
            elif window.has(number):
                refusals = window.refusals(number)
                count = _count(each.ids) - (0 if refusals is None else refusals.count)
                self._acknowledge(packet, max(0, count), refusals=refusals)
            elif (refused := self._refused.answer(packet.incarnation, number)) is not None:
                self._refusals.append((packet.source, refused))
            elif not window.fits(number):
                continue  # no client sends such a number
            elif not self._follows(window, packet):
                self._hold(each)
                continue
            else:
                self._store(window, each)
            due += self._released(packet)

    def _follows(self, window: PublisherWindow, packet: Packet) -> bool:
        """Return whether the predecessor of a message is settled."""
        assert packet.durable is not None
        previous = packet.durable.homes.get(self._context.home, 0)
        return not previous or window.has(previous) or self._refused.answer(packet.incarnation, previous) is not None

    def _store(self, window: PublisherWindow, held: _HeldPacket) -> None:
        """Store a message for the subscriptions that take it, or for none, as the verdict says."""
        packet, content = held.packet, held.content
        assert packet.durable is not None
        subscriptions = self._known(held.ids)
        late = "a later message of the same publisher is stored" if window.is_late(packet.number) else ""
        unknown = self._windows.refusal(packet.incarnation) if subscriptions else ""
        problem = late or self._queue.refusal or unknown
        verdict = (
            HomeVerdict(problem=problem[:MAX_REASON_LENGTH])
            if problem
            else judge(subscriptions, len(content), packet.durable)
        )
        if verdict.problem:
            self._refused.add(self._refuse(packet, verdict))
            return
        dropped = self._append(verdict.taking, packet, content)
        for each in verdict.refusing:
            each.refuse(len(content))
            self._context.drop(DropReason.JOURNAL_FULL)
        window.add(packet.number, verdict.refusals)
        if subscriptions:
            self._windows.keep(window)
        self._acknowledge(packet, _count(each.id for each in verdict.taking), dropped, verdict.refusals)

    def _acknowledge(
        self, packet: Packet, subscriptions: int, dropped: int = 0, refusals: Refusals | None = None
    ) -> None:  # fmt: skip
        """Confirm a message once it is on disk; only once, however often it arrives until then."""
        key = packet.source, packet.incarnation, packet.number
        if key not in self._pending:
            self._pending.add(key)
            self._answers[key] = StoredEntry(packet.incarnation, packet.number, subscriptions, dropped, "", refusals)

    def _refuse(self, packet: Packet, verdict: HomeVerdict) -> StoredEntry:
        answer = StoredEntry(packet.incarnation, packet.number, 0, 0, verdict.problem, verdict.refusals)
        self._refusals.append((packet.source, answer))
        return answer

    def join(self, id: int, predicate: Predicate) -> None:
        """Add a subscription to the held messages that match it: it did not exist when they arrived."""
        budget = SearchBudget(MAX_EXAMINED)  # of patterns, for all messages together
        for held in self._held.values():
            for number, each in held.items():
                content = Content(each.packet)
                try:
                    budget.spend(sum(filter.effort(content) - 1 for filter in predicate.filters))
                    if id not in each.ids and predicate.matches(content):
                        held[number] = each._replace(ids=[*each.ids, id])
                except UndecidedError:
                    self.lose([id])

    def _append(self, subscriptions: Sequence[LogReader], packet: Packet, content: bytes) -> int:
        """Add a message to the log, if a subscription takes it; return the number of older ones dropped for it."""
        if not subscriptions:
            return 0
        self._context.counters[Event.STORED] += len(subscriptions)
        ids = [each.id for each in subscriptions]
        entry = self._log.append(ids, packet.origin or packet.source, packet.incarnation, packet.number, content)
        return sum(each.append(entry) for each in subscriptions)

    def _known(self, ids: Iterable[int]) -> list[LogReader]:
        return [self.subscriptions[id] for id in ids if id in self.subscriptions]

    # --- messages held back

    def _hold(self, held: _HeldPacket) -> None:
        packets = self._held.setdefault(held.packet.incarnation, {})
        if held.packet.number not in packets:
            if self._held_bytes + held.size > _MAX_HELD_BYTES:
                return  # its source sends it again
            self._held_bytes += held.size
        packets[held.packet.number] = held

    def _released(self, packet: Packet) -> list[_HeldPacket]:
        """Return the messages that were held back for a message that is settled now; drop its own held copy."""
        held = self._held.get(packet.incarnation)
        if not held:
            return []
        name, number = self._context.home, packet.number
        waiting = [
            at
            for at, each in held.items()
            if each.packet.durable is not None and (at == number or each.packet.durable.homes.get(name, 0) == number)
        ]
        released = [held[at] for at in sorted(waiting) if at != number]
        self._drop_held(packet.incarnation, waiting)
        return [_unbound(each, name) for each in released]

    def _drop_held(self, publisher: int, numbers: Iterable[int] | range) -> None:
        held = self._held.get(publisher)
        if held is None:
            return
        for number in [each for each in held if each in numbers]:
            self._held_bytes -= held.pop(number).size
        if not held:
            del self._held[publisher]

    # --- turns

    def finish_turn(self) -> None:
        """Save the messages of this turn, and answer their publishers once they are on disk; send refusals at once."""
        if self._refusals:
            refusals, self._refusals = self._refusals, []
            self._send(refusals)
        subscriptions = self._log.finish_turn()
        if not self._answers and not subscriptions:
            return
        self._windows.finish_turn()
        self._queue.after(partial(self._written, self._log.next, subscriptions, self._answers))
        self._answers = {}

    def _written(self, end: int, ids: Iterable[int], answers: Mapping[AnswerKey, StoredEntry]) -> None:
        self._log.on_disk = end
        for subscription in self._known(ids):
            subscription.deliver(self._context.now)
        self._pending.difference_update(answers)
        self._send((router, entry) for (router, _, _), entry in answers.items())

    def _send(self, answers: Iterable[Answer]) -> None:
        by_router: dict[str, list[StoredEntry]] = {}
        for router, entry in answers:
            by_router.setdefault(router, []).append(entry)
        for router, entries in by_router.items():
            for first in range(0, len(entries), MAX_ENTRIES):
                self._answer(Stored(router, 0, self._context.home, entries[first : first + MAX_ENTRIES]))

    def check(self) -> None:
        """Drop messages that are too old, send unacknowledged ones again, and forget what is not needed any more."""
        now, time = self._context.now, self._queue.time()
        for subscription in self.subscriptions.values():
            subscription.expire(time)
            subscription.check(now)
        self._log.free()
        self._windows.expire()
        for publisher, held in list(self._held.items()):
            self._drop_held(publisher, [number for number, each in held.items() if now - each.time > _HELD_AGE])


def _count(ids: Iterable[int]) -> int:
    """Return the number of durable subscriptions among these ids: all but the history."""
    return sum(id != HISTORY_ID for id in ids)


def _unbound(held: _HeldPacket, home: str) -> _HeldPacket:
    """Return a message that no longer waits for its predecessor, which is settled."""
    assert held.packet.durable is not None
    mark = msgspec.structs.replace(held.packet.durable, homes={**held.packet.durable.homes, home: 0})
    return held._replace(packet=msgspec.structs.replace(held.packet, durable=mark))
