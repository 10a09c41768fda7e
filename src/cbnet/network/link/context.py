"""State that all parts of one router share: settings, incarnation, clock, counters, and the actions to perform."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from cbnet.network.link.counters import DropReason
from cbnet.network.link.settings import Settings
from cbnet.network.logs import log
from cbnet.network.protocol.frames import Frame
from cbnet.network.protocol.reasons import ReasonCode

_WARNING_INTERVAL = 5.0  # seconds between two warnings for one event


class Send(NamedTuple):
    """Send a frame over a link."""

    link: int
    frame: Frame


class Shut(NamedTuple):
    """Send a `Close` with the reason, then close the connection. The router has already removed the link."""

    link: int
    reason: str
    code: ReasonCode


Action: TypeAlias = Send | Shut


class Outbox:
    """Actions collected while an event is handled, in order."""

    def __init__(self) -> None:
        self._actions: list[Action] = []

    def send(self, link: int, frame: Frame) -> None:
        """Add a frame for a link."""
        self._actions.append(Send(link, frame))

    def send_all(self, links: Iterable[int], frame: Frame) -> None:
        """Add a frame for each of several links."""
        self._actions.extend([Send(link, frame) for link in links])

    def shut(self, link: int, reason: str, code: ReasonCode) -> None:
        """Close a link."""
        self._actions.append(Shut(link, reason, code))

    def take(self) -> list[Action]:
        """Remove and return the actions."""
        taken, self._actions = self._actions, []
        return taken


class Clock:
    """Seconds since the start, driven by another clock, and independent of its jumps.

    `now` never goes back, and advances by at most `max_step` per update: a jump alone closes no link and expires no
    record. `elapsed` counts steps in full; it bounds how long replies are cached, also while the process is suspended.
    """

    def __init__(self, max_step: float) -> None:
        self.now = 0.0
        self.elapsed = 0.0  # with steps of any length
        self._max_step = max_step
        self._last: float | None = None

    def advance(self, now: float) -> None:
        """Advance to the time of the other clock."""
        step = 0.0 if self._last is None else now - self._last
        self._last = now
        if step > 0.0:
            self.now += min(step, self._max_step)
            self.elapsed += step


@dataclass
class RouterContext:
    """The state that all parts of one router share."""

    settings: Settings
    incarnation: int
    gateway_path: tuple[str, ...] = ()  # of a gateway: from the root of the gateway tree to itself
    outbox: Outbox = field(default_factory=Outbox)
    counters: Counter[str] = field(default_factory=Counter)  # see `counters` for the keys
    clock: Clock = field(init=False)
    _warned: dict[str, float] = field(default_factory=dict)  # event -> time of the last warning

    def __post_init__(self) -> None:
        self.clock = Clock(self.settings.heartbeat)

    @property
    def name(self) -> str:
        """The name of the router."""
        return self.settings.name

    @property
    def home(self) -> str:
        """The name of the home of durable subscriptions that the router holds, or may hold."""
        return self.settings.home or self.settings.name

    @property
    def now(self) -> float:
        """The time, in seconds since the start."""
        return self.clock.now

    def drop(self, reason: DropReason) -> None:
        """Count a packet, request or reply that is dropped."""
        self.counters[reason.key] += 1

    def warn(self, event: str, **members: Any) -> None:
        """Log a warning, unless one for the same event was logged recently: a peer may cause very many."""
        if self.now - self._warned.get(event, float("-inf")) >= _WARNING_INTERVAL:
            self._warned[event] = self.now
            log(logging.WARNING, event, **members)


class Reserve:
    """The unused part of a rate; at most the amount that accrues in one second."""

    def __init__(self, now: float) -> None:
        self._left: float | None = None  # None: full
        self._since = now

    def left(self, rate: int, now: float) -> float:
        """Return the remaining amount."""
        accrued = rate * max(0.0, now - self._since)
        self._since = now
        self._left = float(rate) if self._left is None else min(self._left + accrued, float(rate))
        return self._left

    def use(self, count: int) -> None:
        """Use `count` of the reserve; an excess over the remaining amount becomes a debt."""
        if self._left is not None:
            self._left -= count
