"""Fair scheduling of frames between the clients and neighbours of a router.

Bytes arrive in chunks. Plain messages are handled in a kernel, for at most a short time slice (`fast_forwarding`). All
other frames are decoded and processed in small batches; after `TIME_SLICE` seconds the rest waits until the other
connections have been served. A nested message may take most of a second, so nested messages are processed one by one.
Announcements with few filters are processed together, so that the resulting changes are forwarded together; those with
many conditions, and the parts of a long change, are processed one by one.

Processor time belongs to *payers* (`processor_turns`): what one has beyond its turn waits, link by link.

Frames that change or query the router's state are slow (a subscription takes up to a few tenths of a second), and
thousands may arrive at once. They are processed one by one. After `TIME_SLICE` seconds the client, or the neighbour
that forwards inquiries, is paused, and nothing is read from it: for as long as its frames took, divided by the weight
of a client. So one with weight 1 gets at most half of the processor time, over all its links. A long predicate is read
in a thread before its frame is processed: for each payer one at a time, and charged like the frame. Its filters are
added, and removed, in steps; a link has turns and pauses between the steps of its frame.

A client that feeds a long queue is blocked: its frames wait until the queue is short (`back_pressure`).

An account may have rates: messages and bytes per second, over all its links, with a reserve of one second. Traffic
beyond them is not refused: its links are not read until the reserve has recovered, and nothing is lost.

    reserve ──► messages that are handled now ──► reserve used up ──► pause ──► …

The kernel handles at most as many messages as the reserve allows. Bytes are counted as they are read, up to 128 KiB at
a time: the reserve of bytes may become negative, and the pause lasts until it is not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from time import thread_time
from typing import TYPE_CHECKING, Final, NamedTuple

from cbnet._kernels.fast_path import DONE, LATE
from cbnet._kernels.plain_filter import is_plain
from cbnet.network.link.context import Reserve
from cbnet.network.link.link import Link
from cbnet.network.protocol import frames
from cbnet.network.protocol.frames import (
    Announce,
    Frame,
    OfferFrame,
    Packet,
    PacketRun,
    Publish,
    Subscribe,
    frame_number,
)
from cbnet.network.protocol.predicate_texts import LONG, read_ahead
from cbnet.network.protocol.wire import LENGTH_BYTES, Data, WireError
from cbnet.network.router.router import ANY_NUMBER
from cbnet.network.transport.connection import Connection
from cbnet.network.transport.processor_turns import TIME_SLICE, ProcessorTurns

if TYPE_CHECKING:
    from cbnet.network.transport.tcp_router import TcpRouter

WALL_SLICE = 0.04  # seconds: a thread that compiles filters, or another process, may take the processor meanwhile
_MAX_PAUSED: Final = 1_000  # payers, some of whose pauses may be over
_SHORTEST_PAUSE: Final = 0.005  # seconds, so that several messages are handled after it
BATCH = 16  # frames between two readings of the clock: at 10 µs per frame, the clock costs 1 %
BATCH_BYTES = 1 << 13  # of these frames: 150 announced filters, which take about 5 ms
_SLOW: frozenset[type[Frame]] = frozenset({
    Subscribe, frames.Unsubscribe, OfferFrame, frames.Withdraw, frames.Trace, frames.StatusRequest,
    frames.SubscriptionRequest, frames.Inquiry, frames.Reload, frames.DurableSubscribe, frames.DurableRemove,
    frames.DurableLimit, frames.DurablePeek, frames.DurableMove, frames.DurablePurge, frames.DurableQuery,
    frames.Replay, frames.ForgetHome, frames.TableRequest, frames.FilterRequest,
})  # fmt: skip
_MANY_FILTERS: Final = 8  # with conditions, which take a millisecond, of an announcement that is processed alone
_ANNOUNCING: Final = 0.01  # seconds in which neighbours handle some announcements
_CONGESTED: Final = 1.0  # seconds for which a step waits at most until neighbours have handled others' announcements
_READING: Final = 0.05  # seconds between two looks whether a thread has read a predicate
_PACKET = frame_number(Packet)
_PACKETS = {_PACKET, frame_number(PacketRun)}
_ALONE = frozenset(map(frame_number, _SLOW))
_ENDING = _ALONE | {frame_number(Publish), _PACKET}  # end a batch; the fast path may handle the last two
_NUMBER = LENGTH_BYTES + 1  # offset of the frame number


class _Batch(NamedTuple):
    frames: list[Frame]
    end: int  # offset in the bytes
    error: str = ""  # of the frame at `end`


_NOTHING = _Batch([], 0)


@dataclass
class _Waiting:
    data: bytearray  # frames
    is_held: bool = False  # until `release`
    is_closed: bool = False  # by the peer


class FairScheduler:
    """Processes frames, and queues the frames of connections that have used up their time slice."""

    def __init__(self, processor: TcpRouter, rates: ClientRates, turns: ProcessorTurns) -> None:
        self._turns = turns
        self._processor = processor
        self._rates = rates
        self._waiting: dict[Connection, _Waiting] = {}
        self._paused: dict[str, float] = {}  # payer -> end of its pause
        self._reading = asyncio.Lock()  # held while a thread reads a predicate
        self._readers: set[str] = set()  # payers for whom it reads, or will
        self._in_steps: dict[Connection, float] = {}  # whose last frame has steps left: time of the latest one
        self._read_ahead: dict[Connection, asyncio.Task[None]] = {}  # until the frame of the predicate is processed
        self._loop = asyncio.get_running_loop()

    @property
    def waiting(self) -> Collection[Connection]:
        """The connections whose frames wait."""
        return self._waiting.keys()

    def add(self, connection: Connection, data: Data) -> None:
        """Process the frames in `data` in order, some now and the rest later."""
        waiting = self._waiting.get(connection)
        if waiting is not None:
            waiting.data += data
        else:
            joined = connection.reader.join(data)
            if joined:
                self._serve_in_turn(connection, joined)

    def defer_close(self, connection: Connection) -> bool:
        """Return whether a connection that the peer closed has frames left; if so, `closed` is called after them."""
        waiting = self._waiting.get(connection)
        if waiting is not None:
            waiting.is_closed = True
        return waiting is not None

    def release(self, connection: Connection) -> None:
        """Resume processing the frames of a blocked connection."""
        waiting = self._waiting.get(connection)
        if waiting is not None and waiting.is_held:
            waiting.is_held = False
            self._loop.call_soon(self._resume, connection)

    def forget(self, connection: Connection) -> None:
        """Discard the queued frames of a connection."""
        self._waiting.pop(connection, None)
        self._read_ahead.pop(connection, None)
        self._in_steps.pop(connection, None)

    # --- turns

    def _serve_in_turn(self, connection: Connection, data: Data) -> None:
        """Process frames if their payer has time left in this iteration; else they wait for the next one."""
        payer = connection.link.payer
        if not self._turns.has_time(payer):
            self._waiting[connection] = _Waiting(bytearray(data))
            connection.pause_reading()
            self._turns.wait(payer, partial(self._resume, connection))
            return
        began = thread_time()
        self._serve(connection, data, began)
        self._turns.charge(payer, connection.link.processor_weight, thread_time() - began)

    # --- frames

    def _serve(self, connection: Connection, data: Data, began: float) -> None:
        """Process the frames in `data` until its end or the end of the time slice."""
        at, is_slow, link = 0, False, connection.link
        now = self._loop.time()
        end = now + WALL_SLICE
        while True:
            batch = _NOTHING
            if link.steps is not None:
                is_slow = True
                is_congested = self._processor.is_announcing and now - self._in_steps.get(connection, 0.0) < _CONGESTED
                pause = max(self._pause(connection), _ANNOUNCING if is_congested else 0.0)
                if pause > 0:
                    self._wait(connection, data, at, pause)
                    return
            else:
                progress = self._processor.forward(connection, data, at, self._rates.allowed(link, now))
                if progress is None:
                    return
                at, now = progress.end, self._loop.time()
                if link.is_blocked:
                    self._wait(connection, data, at, None)
                    return
                pause = self._rates.pause(link, now)
                if pause > 0:
                    self._wait(connection, data, at, pause)
                    return
                if progress.outcome == LATE:
                    self._wait(connection, data, at, 0.0)
                    return
                batch = _NOTHING if progress.outcome == DONE else _read(connection, data, at)
                if batch is _NOTHING:
                    connection.reader.keep(data, at)
                    return
                if not _SLOW.isdisjoint(map(type, batch.frames)):
                    is_slow = True
                    if self._read_ahead.pop(connection, None) is None:  # else this frame has had its pause
                        pause = self._pause(connection)
                        if pause > 0:
                            self._wait(connection, data, at, pause)
                            return
                        if self._must_wait(link, batch.frames):
                            self._wait(connection, data, at, _READING)
                            return
                        if self._begin_reading(connection, batch.frames):
                            self._wait(connection, data, at, None)
                            return
                at = batch.end
            if not self._processor.process(connection, batch.frames):
                return
            self._in_steps.pop(connection, None)
            if link.steps is not None:
                self._in_steps[connection] = self._loop.time()
            if batch.error:
                self._processor.failed(connection, batch.error)
                return
            if link.is_blocked:
                self._wait(connection, data, at, None)
                return
            took, now = thread_time() - began, self._loop.time()
            is_late = took > TIME_SLICE or now > end
            if is_late and (is_slow or at < len(data)):
                self._wait(connection, data, at, self._pause_payer(link, now, took) if is_slow else 0.0)
                return

    def _must_wait(self, link: Link, frames: list[Frame]) -> bool:
        """Return whether a frame has a long predicate while another frame of its payer has steps left."""
        is_long = len(getattr(frames[0], "predicate", "")) >= LONG
        return is_long and any(
            each.link.steps is not None and each.link.payer == link.payer for each in self._in_steps
        )  # fmt: skip

    def _begin_reading(self, connection: Connection, frames: list[Frame]) -> bool:
        """Return whether a frame has a long predicate; if so, let a thread read it."""
        text = getattr(frames[0], "predicate", "")
        if len(text) < LONG:
            return False
        rights = connection.link.rights
        is_compared = (
            rights.limits_subscriptions if isinstance(frames[0], Subscribe)
            else rights.offer is not None if isinstance(frames[0], OfferFrame)
            else True
        )  # fmt: skip
        self._readers.add(connection.link.payer)
        reading = self._read_predicate(connection, partial(read_ahead, text, is_compared=is_compared))
        self._read_ahead[connection] = self._loop.create_task(reading)
        return True

    async def _read_predicate(self, connection: Connection, read: Callable[[], float]) -> None:
        link, payer = connection.link, connection.link.payer
        try:
            async with self._reading:
                took = await asyncio.to_thread(read)
        finally:
            self._readers.discard(payer)
        self._turns.charge(link.payer, link.processor_weight, took)
        self._pause_payer(link, self._loop.time(), took)
        self.release(connection)

    def _pause(self, connection: Connection) -> float:
        """Return how long the slow frames of a client must wait, in seconds."""
        payer = connection.link.payer
        if payer in self._readers:
            return _READING
        pause = self._paused.get(payer, 0.0) - self._loop.time()
        if pause <= 0:
            self._paused.pop(payer, None)
        return pause

    def _pause_payer(self, link: Link, now: float, took: float) -> float:
        """Pause the slow frames of the payer of a link, which took some seconds; return the pause, in seconds."""
        if len(self._paused) > _MAX_PAUSED:
            self._paused = {each: end for each, end in self._paused.items() if end > now}
        pause = took if link.is_router else took / link.processor_weight
        self._paused[link.payer] = now + pause
        return pause

    def _wait(self, connection: Connection, data: Data, start: int, seconds: float | None) -> None:
        """Keep the frames from `start` on for some seconds; None: until `release`."""
        self._waiting[connection] = _Waiting(bytearray(memoryview(data)[start:]), is_held=seconds is None)
        connection.pause_reading()
        if seconds is not None:
            self._loop.call_later(seconds, self._resume, connection)

    def _resume(self, connection: Connection) -> None:
        waiting = self._waiting.pop(connection, None)
        if waiting is None:
            return
        connection.resume_reading()
        self._serve_in_turn(connection, waiting.data)
        if waiting.is_closed and not self.defer_close(connection) and connection.link.is_open:
            self._processor.closed(connection)


def _read(connection: Connection, data: Data, start: int) -> _Batch:
    """Decode a batch of the frames from `start` on: a frame that may be slow alone, others up to a plain message."""
    reader, last = connection.reader, start + BATCH_BYTES
    frames: list[Frame] = []
    is_durable = False  # the previous frame: a packet that the fast path does not handle, and more may follow
    try:
        while len(frames) < (1 if reader.has_nested else BATCH):
            end = reader.end_of(data, start)
            number = data[start + _NUMBER] if end - start > _NUMBER else 0
            if end == start or (frames and (end > last or (number in _ENDING and not is_durable))):
                break
            if number in _PACKETS:
                connection.output.count_received(data, start, end)
            frame = reader.read(data, start, end)
            start = end
            if frame is not None:
                frames.append(frame)
            is_durable = isinstance(frame, Packet) and frame.durable is not None
            if number in _ALONE or _is_long(frame):
                break
    except WireError as error:
        return _Batch(frames, start, error.reason)
    return _Batch(frames, start) if frames or reader.skipped else _NOTHING


def _is_long(frame: Frame | None) -> bool:
    """Return whether a frame is a part of a long change, or announces many filters with conditions."""
    if not isinstance(frame, Announce):
        return False
    is_part = bool(frame.changes) and not frame.changes[-1].is_last
    return is_part or sum(not is_plain(filter) for filter in (*frame.filters, *frame.offers)) >= _MANY_FILTERS


class _Account:
    """The reserves of an account, which outlive its links: a client cannot refill them by reconnecting."""

    def __init__(self, now: float) -> None:
        self.messages = Reserve(now)
        self.bytes = Reserve(now)


class ClientRates:
    """The rate limits of all accounts of a router."""

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}

    def allowed(self, link: Link, now: float) -> int:
        """Return how many messages of a link may be handled now."""
        rate = link.rights.messages_per_second
        if rate is None:
            return ANY_NUMBER
        return max(0, int(self._account(link, now).messages.left(rate, now)))

    def pause(self, link: Link, now: float) -> float:
        """Count the traffic received over a link; return the seconds for which its client must be paused."""
        rights, pause = link.rights, 0.0
        if rights.messages_per_second is None and rights.bytes_per_second is None:
            return 0.0
        account, (messages, bytes) = self._account(link, now), link.counted
        self.begin(link)
        if (rate := rights.messages_per_second) is not None:
            left = account.messages.left(rate, now) - (link.counted[0] - messages)
            account.messages.use(link.counted[0] - messages)
            pause = (1.0 - left) / rate
        if (rate := rights.bytes_per_second) is not None:
            left = account.bytes.left(rate, now) - (link.counted[1] - bytes)
            account.bytes.use(link.counted[1] - bytes)
            pause = max(pause, -left / rate)
        return max(pause, _SHORTEST_PAUSE) if pause > 0 else 0.0

    def begin(self, link: Link) -> None:
        """Start counting from now on the traffic of a link whose rights may have changed."""
        link.counted = link.traffic.messages_received, link.traffic.received

    def _account(self, link: Link, now: float) -> _Account:
        account = self._accounts.get(link.account)
        if account is None:
            account = self._accounts[link.account] = _Account(now)
        return account
