"""A network in one process, in memory, with a simulated clock: for tests and long simulated runs.

Routers, clients and the cables between them; frames become bytes and take some time on their way, in order. Cables
are cut and repaired, routers are killed and started again, clocks jump. Everything that is random comes from one seed:
the same calls give the same run.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import Protocol

from cbnet.errors import InputError
from cbnet.network.link.actions import Action, Send
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import Close, Frame
from cbnet.network.protocol.wire import FrameReader, WireError, encode
from cbnet.network.router.initial_state import EMPTY_STATE, InitialState
from cbnet.network.router.router import Router

TICK = 0.25  # seconds between two ticks of a router or client
REDIAL = 0.5  # seconds before a connection that is gone is tried again
_SHORTEST, _LONGEST = 0.001, 0.1  # seconds on a cable


class MemoryPeer(Protocol):
    """Who has an end of a connection."""

    def opened(self, end: End) -> None:
        """Take a new connection."""

    def received(self, end: End, frame: Frame) -> None:
        """Take a frame."""

    def failed(self, end: End, reason: str) -> None:
        """Take note that bytes came that are no frame."""

    def closed(self, end: End) -> None:
        """Take note that a connection is gone."""


class End:
    """One end of a connection."""

    def __init__(self, link: int, owner: MemoryPeer, delay: float) -> None:
        self.link = link
        self.owner = owner
        self.peer: End
        self.is_open = True
        self.is_lost = False  # nothing that is sent arrives, and nobody is told
        self.delay = delay
        self.reader = FrameReader()
        self.last_arrival = 0.0  # at the other end


@dataclass
class _Cable:
    ends: tuple[str, str]
    delay: float
    is_cut: bool = False
    dialled: End | None = None  # at the first end, which dials


class Host:
    """A place where a router runs, or not."""

    def __init__(self, memory: MemoryNetwork, settings: Settings, beginning: InitialState) -> None:
        self._memory = memory
        self.settings = settings
        self.beginning = beginning
        self.router: Router | None = None
        self.ahead = 0.0  # of its clock before the others
        self.ends: dict[int, End] = {}

    @property
    def now(self) -> float:
        """What its clock says."""
        return self._memory.now + self.ahead

    def opened(self, end: End) -> None:
        """Take a new connection."""
        self.ends[end.link] = end
        if self.router is not None:
            self.perform(self.router.opened(end.link, self.now))

    def received(self, end: End, frame: Frame) -> None:
        """Give a frame to the router."""
        if self.router is not None:
            self.perform(self.router.received(end.link, frame, self.now))

    def failed(self, end: End, reason: str) -> None:
        """Tell the router that bytes came that are no frame."""
        if self.router is not None:
            self.perform(self.router.failed(end.link, reason, self.now))

    def closed(self, end: End) -> None:
        """Tell the router that a connection is gone."""
        self.ends.pop(end.link, None)
        if self.router is not None:
            self.perform(self.router.closed(end.link, self.now))

    def tick(self) -> None:
        """Let the router do what is due."""
        if self.router is not None:
            self.perform(self.router.tick(self.now))

    def perform(self, actions: Iterable[Action]) -> None:
        """Do what the router says."""
        for action in actions:
            end = self.ends.get(action.link)
            if end is None:
                continue
            if isinstance(action, Send):
                self._memory.send(end, action.frame)
            else:
                self._memory.send(end, Close(action.reason))
                self.ends.pop(action.link, None)
                self._memory.close(end)


class MemoryNetwork:
    """A network in memory."""

    def __init__(self, seed: int = 0) -> None:
        self.now = 0.0
        self.random = Random(seed)
        self.hosts: dict[str, Host] = {}
        self.frames: Counter[str] = Counter()  # sent, by kind
        self.bytes: Counter[str] = Counter()
        self._cables: dict[frozenset[str], _Cable] = {}
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._links = count(1)

    # --- time

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        """Do something after some time."""
        self._at(self.now + seconds, do)

    def _at(self, time: float, do: Callable[[], None]) -> None:
        """Do something at a time; of what is at the same time, that which was said first."""
        heapq.heappush(self._events, (time, next(self._order), do))

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + seconds
        while self._events and self._events[0][0] <= end:
            self.now, _, do = heapq.heappop(self._events)
            do()
        self.now = end

    def every(self, seconds: float, do: Callable[[], None]) -> None:
        """Do something again and again, first at a random time within the period."""

        def again() -> None:
            do()
            self.after(seconds, again)

        self.after(self.random.uniform(0, seconds), again)

    # --- routers and cables

    def add(self, settings: Settings, beginning: InitialState = EMPTY_STATE) -> Router:
        """Add a router and start it; beginning: what it begins with, each time that it starts."""
        if settings.name in self.hosts:
            raise InputError(f"there is a router {settings.name!r} already")
        host = self.hosts[settings.name] = Host(self, settings, beginning)
        self.every(TICK, host.tick)
        return self.start(settings.name)

    def start(self, name: str) -> Router:
        """Start a router that was added, or killed, with nothing in its memory."""
        host = self.hosts[name]
        life = self.random.getrandbits(62)
        chosen, host.beginning = host.beginning.life, replace(host.beginning, life=None)  # a life is for once
        host.router = Router(host.settings, life if chosen is None else chosen, beginning=host.beginning)
        host.tick()
        return host.router

    def router(self, name: str) -> Router:
        """Return a router that runs."""
        router = self.hosts[name].router
        if router is None:
            raise InputError(f"the router {name!r} does not run")
        return router

    def kill(self, name: str, *, silently: bool = False) -> None:
        """End a router; silently: its neighbours and clients do not notice at once."""
        host = self.hosts[name]
        host.router = None
        for end in host.ends.values():
            self._sever(end, is_noticed=False)
            self._sever(end.peer, is_noticed=not silently)
        host.ends.clear()

    def jump_clock(self, name: str, seconds: float) -> None:
        """Let the clock of a router jump."""
        self.hosts[name].ahead += seconds

    def add_cable(self, a: str, b: str) -> None:
        """Add a cable between two routers; it is dialled, and dialled again whenever the connection is gone."""
        cable = _Cable((a, b), self.random.uniform(_SHORTEST, _LONGEST))
        self._cables[frozenset((a, b))] = cable
        self.every(REDIAL, lambda: self._redial(cable))

    def cut(self, a: str, b: str, *, noticed_by: Collection[str] | None = None) -> None:
        """Cut a cable: what is on its way is lost. Both ends notice it, or only some of them at once."""
        self._cables[frozenset((a, b))].is_cut = True
        noticing = (a, b) if noticed_by is None else noticed_by
        for end in list(self.hosts[a].ends.values()):
            if end.peer.owner is self.hosts[b]:
                self._sever(end, a in noticing)
                self._sever(end.peer, b in noticing)

    def repair(self, a: str, b: str) -> None:
        """Repair a cable; it is dialled again when its first end has noticed that the connection is gone."""
        self._cables[frozenset((a, b))].is_cut = False

    def cables(self, *, cut: bool) -> list[tuple[str, str]]:
        """Return the cables that are cut, or those that are not."""
        return [cable.ends for cable in self._cables.values() if cable.is_cut is cut]

    def _redial(self, cable: _Cable) -> None:
        a, b = (self.hosts[name] for name in cable.ends)
        is_up = cable.dialled is not None and cable.dialled.link in a.ends
        if not is_up and not cable.is_cut and a.router is not None and b.router is not None:
            cable.dialled = self.dial(a, b, cable.delay)

    # --- connections

    def dial(self, caller: MemoryPeer, called: MemoryPeer, delay: float) -> End:
        """Make a connection between two parties; return the end of the caller."""
        near, far = (End(next(self._links), owner, delay) for owner in (caller, called))
        near.peer, far.peer = far, near
        caller.opened(near)
        self.after(delay, lambda: called.opened(far))
        near.last_arrival = self.now + delay
        return near

    def send(self, end: End, frame: Frame) -> None:
        """Send a frame to the other end."""
        data = encode(frame)
        kind = type(frame).__name__
        self.frames[kind] += 1
        self.bytes[kind] += len(data)
        self.send_bytes(end, data)

    def send_bytes(self, end: End, data: bytes) -> None:
        """Send bytes, whatever they are, to the other end."""
        self._arrive(end, lambda: self._receive(end.peer, data))

    def close(self, end: End) -> None:
        """Close a connection from one end, after what was sent."""
        end.is_open = False
        self._arrive(end, lambda: self._close(end.peer))

    def disconnect_silently(self, end: End) -> None:
        """Let nothing that is sent over a connection arrive; nobody is told."""
        for each in (end, end.peer):
            self._sever(each, is_noticed=False)

    def _sever(self, end: End, is_noticed: bool) -> None:
        """Let nothing that is sent from an end arrive; perhaps that end notices."""
        end.is_lost = True
        if is_noticed:
            self.after(end.delay, lambda: self._close(end))

    def _arrive(self, end: End, do: Callable[[], None]) -> None:
        """Let something happen at the other end, after all that was sent there before."""
        jitter = self.random.uniform(1, 2)
        end.last_arrival = max(end.last_arrival, self.now + end.delay * jitter)

        def arrived() -> None:
            if not end.is_lost:
                do()

        self._at(end.last_arrival, arrived)

    def _receive(self, end: End, data: bytes) -> None:
        if not end.is_open:
            return
        try:
            for frame in end.reader.feed(data):
                end.owner.received(end, frame)
        except WireError as error:
            end.owner.failed(end, error.reason)

    def _close(self, end: End) -> None:
        if end.is_open:
            end.is_open = False
            end.owner.closed(end)
