"""A network in one process, in memory, with a simulated clock: for tests and long simulated runs.

Routers and clients are connected by cables; frames are encoded, and arrive in order after a delay. Cables can be cut
and repaired, routers killed and restarted, clocks can jump. All randomness comes from one seed: the same calls give
the same run.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Protocol

from cbnet.errors import InputError
from cbnet.network.announce.announcements import NO_DATA, NodeData
from cbnet.network.durable.home_log.journal import JournalEvent
from cbnet.network.link.context import Action
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import FRAMES, Frame, frame_number
from cbnet.network.protocol.wire import LENGTH_BYTES, FrameReader, encode
from cbnet.network.router.router import Router
from cbnet.network.security.access import OPEN_ACCESS, Access
from cbnet.network.simulation.byte_router import ByteRouter, Sent
from cbnet.network.simulation.memory_disk import MemoryDisk
from cbnet.network.simulation.shared_disk import LeasedDisk

TICK = 0.25  # seconds between two ticks of a router or client
REDIAL = 0.5  # seconds before a closed connection is dialled again
_LONG_ARRAY = 0xDC  # first byte of a MessagePack array of 16 members or more; two bytes of its length follow
_KINDS = {frame_number(kind): kind.__name__ for kind in FRAMES}
_MIN_DELAY, _MAX_DELAY = 0.001, 0.1  # seconds on a cable


class MemoryPeer(Protocol):
    """The callbacks of a connection end."""

    def opened(self, end: ConnectionEnd) -> None:
        """Handle a new connection."""

    def received_bytes(self, end: ConnectionEnd, data: bytes) -> None:
        """Handle some frames."""

    def closed(self, end: ConnectionEnd) -> None:
        """Handle a closed connection."""


class ConnectionEnd:
    """One end of a connection."""

    __slots__ = ("delay", "is_lost", "is_open", "last_arrival", "link", "owner", "peer", "reader")

    def __init__(self, link: int, owner: MemoryPeer, delay: float) -> None:
        self.link = link
        self.owner = owner
        self.peer: ConnectionEnd
        self.is_open = True
        self.is_lost = False  # nothing sent from this end arrives
        self.delay = delay
        self.reader = FrameReader()  # of a client
        self.last_arrival = 0.0  # time, at the peer


@dataclass
class _Cable:
    ends: tuple[str, str]
    delay: float
    is_cut: bool = False
    dialled: ConnectionEnd | None = None  # by the first router


class Host:
    """A host of one router: running, suspended or killed."""

    def __init__(
        self,
        memory: MemoryNetwork,
        settings: Settings,
        data: NodeData,
        disk: MemoryDisk | LeasedDisk | None,
        access: Access = OPEN_ACCESS,
    ) -> None:
        self._memory = memory
        self.settings = settings
        self.data = data
        self.disk = disk
        self.access = access
        self.router: Router | None = None
        self.bytes: ByteRouter | None = None  # the running router behind its links
        self.clock_offset = 0.0  # seconds
        self.ends: dict[int, ConnectionEnd] = {}
        self.is_suspended = False
        self._delayed: list[Callable[[], None]] = []  # what has happened since

    # --- suspension

    def suspend(self) -> None:
        """Suspend the process of the router: it does nothing until `resume`."""
        self.is_suspended = True

    def resume(self) -> None:
        """Let the process go on, with what has arrived meanwhile."""
        self.is_suspended = False
        delayed, self._delayed = self._delayed, []
        for call in delayed:
            call()

    def when_running(self, call: Callable[[], None]) -> None:
        """Make a call, once the process is not suspended."""
        if self.is_suspended:
            self._delayed.append(call)
        else:
            call()

    @property
    def now(self) -> float:
        """The time of its clock."""
        return self._memory.now + self.clock_offset

    def opened(self, end: ConnectionEnd) -> None:
        """Handle a new connection."""
        self.ends[end.link] = end
        self._pass(lambda router: router.opened(end.link, self.now))

    def received_bytes(self, end: ConnectionEnd, data: bytes) -> None:
        """Pass bytes to the router."""
        if self.is_suspended:
            self._delayed.append(lambda: self.received_bytes(end, data))
        elif self.bytes is not None:
            self._send(self.bytes.received(end.link, data, self.now))

    def closed(self, end: ConnectionEnd) -> None:
        """Report a closed connection to the router."""
        self.ends.pop(end.link, None)
        self._pass(lambda router: router.closed(end.link, self.now))

    def _pass(self, event: Callable[[ByteRouter], list[Sent]]) -> None:
        """Pass an event to the router, once its process is not suspended."""
        self.when_running(lambda: None if self.bytes is None else self._send(event(self.bytes)))

    def journalled(self, event: JournalEvent) -> None:
        """Pass an event of the disk to the router."""
        if self.router is not None:
            self.perform(self.router.journalled(event, self.now))
            while payers := self.router.replaying:
                for payer in payers:
                    self.perform(self.router.replay(payer, self.now))

    def tick(self) -> None:
        """Call the router's `tick`."""
        if self.router is not None and not self.is_suspended:
            self.perform(self.router.tick(self.now))
            while self.router.has_work:
                self.perform(self.router.work(self.now))

    def perform(self, actions: Iterable[Action]) -> None:
        """Perform the actions of the router."""
        if self.bytes is not None:
            self._send(self.bytes.performed(actions))

    def _send(self, all: Iterable[Sent]) -> None:
        for each in all:
            end = self.ends.get(each.link)
            if end is not None:
                self._memory.send_frames(end, each.data)
                if each.is_last:
                    self.ends.pop(each.link, None)
                    self._memory.close(end)


class MemoryNetwork:
    """A network in memory; `run` advances the simulated time."""

    def __init__(self, seed: int = 0, *, is_fast: bool = False) -> None:
        """Initialise; is_fast: plain messages take the fast path of the routers, as over TCP."""
        self.now = 0.0
        self.is_fast = is_fast
        self.random = Random(seed)
        self.hosts: dict[str, Host] = {}
        self.frames: Counter[str] = Counter()  # frames sent, by type
        self.bytes: Counter[str] = Counter()
        self._cables: dict[frozenset[str], _Cable] = {}
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._links = count(1)

    # --- time

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        """Schedule a call after `seconds`."""
        self._at(self.now + seconds, call)

    def _at(self, time: float, call: Callable[[], None]) -> None:
        """Schedule a call at a time; calls at the same time run in the order of scheduling."""
        heapq.heappush(self._events, (time, next(self._order), call))

    def run(self, seconds: float) -> None:
        """Advance the simulated time."""
        end, events, pop = self.now + seconds, self._events, heapq.heappop
        while events and events[0][0] <= end:
            self.now, _, call = pop(events)
            call()
        self.now = end

    def every(self, seconds: float, call: Callable[[], None]) -> None:
        """Repeat a call periodically, first at a random time within the period."""

        def repeat() -> None:
            call()
            self.after(seconds, repeat)

        self.after(self.random.uniform(0, seconds), repeat)

    # --- routers and cables

    def add(
        self,
        settings: Settings,
        data: NodeData = NO_DATA,
        disk: MemoryDisk | LeasedDisk | None = None,
        access: Access = OPEN_ACCESS,
    ) -> Router:
        """Add a router and start it; data: its initial data at each start. disk: for its journal."""
        if settings.name in self.hosts:
            raise InputError(f"there already is a router {settings.name!r}")
        host = self.hosts[settings.name] = Host(self, settings, data, disk, access)
        self.every(TICK, host.tick)
        return self.start(settings.name)

    def start(self, name: str) -> Router:
        """Start a router that was killed; it has lost its state, except what is on its disk."""
        host = self.hosts[name]
        incarnation = self.random.getrandbits(62)
        journal = None if host.disk is None else host.disk.start(host.journalled)
        host.router = Router(host.settings, incarnation, host.access, host.data, journal)
        host.bytes = ByteRouter(host.router, is_fast=self.is_fast)
        if any(name in ends for ends in self._cables):
            host.router.durable.records.expect_neighbours(is_expected=True)
        host.tick()
        return host.router

    def router(self, name: str) -> Router:
        """Return a running router."""
        router = self.hosts[name].router
        if router is None:
            raise InputError(f"the router {name!r} is not running")
        return router

    def kill(self, name: str, *, silently: bool = False) -> None:
        """Kill a router; silently: neighbours and clients do not notice at once."""
        host = self.hosts[name]
        host.router = host.bytes = None
        if host.disk is not None:
            host.disk.crash()
        host.resume()
        for end in host.ends.values():
            self._sever(end, is_noticed=False)
            self._sever(end.peer, is_noticed=not silently)
        host.ends.clear()

    def jump_clock(self, name: str, seconds: float) -> None:
        """Move the clock of a router."""
        self.hosts[name].clock_offset += seconds

    def add_cable(self, a: str, b: str) -> None:
        """Add a cable between two routers; the first dials, and dials again whenever the connection is closed."""
        cable = _Cable((a, b), self.random.uniform(_MIN_DELAY, _MAX_DELAY))
        self._cables[frozenset((a, b))] = cable
        self.every(REDIAL, lambda: self._redial(cable))

    def cut(self, a: str, b: str, *, noticed_by: Collection[str] | None = None) -> None:
        """Cut a cable: frames in transit are lost. Both ends notice at once, or only those in `noticed_by`."""
        self._cables[frozenset((a, b))].is_cut = True
        noticing = (a, b) if noticed_by is None else noticed_by
        for end in list(self.hosts[a].ends.values()):
            if end.peer.owner is self.hosts[b]:
                self._sever(end, a in noticing)
                self._sever(end.peer, b in noticing)

    def repair(self, a: str, b: str) -> None:
        """Repair a cable; its first end dials again when it has noticed the cut."""
        self._cables[frozenset((a, b))].is_cut = False

    def cables(self, *, cut: bool) -> list[tuple[str, str]]:
        """Return the cables that are cut, or, with `cut=False`, the intact ones."""
        return [cable.ends for cable in self._cables.values() if cable.is_cut is cut]

    def _redial(self, cable: _Cable) -> None:
        a, b = (self.hosts[name] for name in cable.ends)
        is_up = cable.dialled is not None and cable.dialled.link in a.ends
        if not is_up and not cable.is_cut and a.router is not None and b.router is not None:
            cable.dialled = self.dial(a, b, cable.delay)

    # --- connections

    def dial(self, caller: MemoryPeer, called: MemoryPeer, delay: float) -> ConnectionEnd:
        """Connect two peers; return the caller's end."""
        near, far = (ConnectionEnd(next(self._links), owner, delay) for owner in (caller, called))
        near.peer, far.peer = far, near
        near.last_arrival = self.now + delay  # frames arrive after the connection is open, and in order
        self.after(delay, lambda: called.opened(far))
        caller.opened(near)
        return near

    def send(self, end: ConnectionEnd, frame: Frame) -> None:
        """Send a frame to the peer."""
        self.send_frames(end, encode(frame))

    def send_frames(self, end: ConnectionEnd, data: bytes) -> None:
        """Send encoded frames to the peer."""
        start, all, frames, sizes = 0, len(data), self.frames, self.bytes
        while start < all:
            size = LENGTH_BYTES + int.from_bytes(data[start : start + LENGTH_BYTES])
            is_long = data[start + LENGTH_BYTES] == _LONG_ARRAY
            kind = _KINDS[data[start + LENGTH_BYTES + (3 if is_long else 1)]]
            frames[kind] += 1
            sizes[kind] += size
            start += size
        self.send_bytes(end, data)

    def send_bytes(self, end: ConnectionEnd, data: bytes) -> None:
        """Send arbitrary bytes to the peer."""

        def arrived() -> None:
            peer = end.peer
            if peer.is_open and not end.is_lost:
                peer.owner.received_bytes(peer, data)

        self._arrive(end, arrived)

    def close(self, end: ConnectionEnd) -> None:
        """Close a connection from one end, after the frames sent."""
        end.is_open = False
        self._arrive(end, lambda: None if end.is_lost else self._close(end.peer))

    def disconnect_silently(self, end: ConnectionEnd) -> None:
        """Lose everything sent over a connection; neither end notices."""
        for each in (end, end.peer):
            self._sever(each, is_noticed=False)

    def _sever(self, end: ConnectionEnd, is_noticed: bool) -> None:
        """Lose everything sent from an end, which notices if `is_noticed`."""
        end.is_lost = True
        if is_noticed:
            self.after(end.delay, lambda: self._close(end))

    def _arrive(self, end: ConnectionEnd, arrived: Callable[[], None]) -> None:
        """Schedule a call for the arrival at the peer, after everything sent before."""
        arrival = self.now + end.delay * (1 + self.random.random())
        if arrival > end.last_arrival:
            end.last_arrival = arrival
        self._at(end.last_arrival, arrived)

    def _close(self, end: ConnectionEnd) -> None:
        if end.is_open:
            end.is_open = False
            end.owner.closed(end)
