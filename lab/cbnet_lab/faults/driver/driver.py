"""Schedules of faults, and the driver that begins, ends and records each fault.

A schedule is data: what fails, when, and for how long; random schedules are determined by a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from cbnet_lab.faults.record import FaultEvent

_BESIDE = ("slow disk", "slow clock")  # a router may be killed meanwhile


@dataclass(frozen=True)
class Fault:
    """A fault of a router, a client, or a link such as r1-r2; it ends after `duration`, or never if that is 0."""

    at: float  # seconds from the beginning
    kind: str
    of: str
    duration: float = 0.0
    size: float = 0.0  # clock jump, or duration of a write, in seconds

    @property
    def end(self) -> float:
        """The time of its end."""
        return self.at + self.duration


@dataclass(frozen=True)
class FaultRate:
    """The rate and mean duration of one kind of fault, which affects a random part each time."""

    kind: str
    parts: Sequence[str]
    per_second: float
    duration: float = 0.0
    sizes: Sequence[float] = (0.0,)


def random_schedule(random: Random, rates: Sequence[FaultRate], first: float, last: float) -> list[Fault]:
    """Return random faults between two times, in order; faults of one part do not overlap, except `_BESIDE`."""
    faults: list[Fault] = []
    for rate in rates:
        at = first + random.expovariate(rate.per_second) if rate.parts else last
        while at < last:
            duration = rate.duration * random.uniform(0.1, 2.0)
            faults.append(Fault(at, rate.kind, random.choice(rate.parts), duration, random.choice(rate.sizes)))
            at += random.expovariate(rate.per_second)
    schedule: list[Fault] = []
    busy: dict[tuple[str, str], float] = {}  # by part: end of its last fault
    for fault in sorted(faults, key=lambda each: each.at):
        part = fault.of, fault.kind if fault.kind in _BESIDE else ""
        if busy.get(part, 0.0) <= fault.at:
            schedule.append(fault)
            busy[part] = fault.end
    return schedule


class FaultyNetwork(Protocol):
    """A network whose parts can be broken and repaired."""

    @property
    def now(self) -> float:
        """The time, in seconds."""

    def wait(self, until: float) -> None:
        """Run the network until a point in time."""

    def begin(self, fault: Fault) -> bool:
        """Break a part; return whether that was possible."""

    def end(self, fault: Fault) -> None:
        """Repair a part."""


class FaultDriver:
    """Carries out schedules of faults in a network."""

    def __init__(
        self,
        network: FaultyNetwork,
        record: Callable[[FaultEvent], None],
        *,
        at_router: Callable[[Fault], Fault] = lambda fault: fault,
    ) -> None:
        """Initialise; at_router: returns the fault of the router that holds a home, for one of the home."""
        self._network = network
        self._record = record
        self._at_router = at_router
        self.active: dict[Fault, Fault] = {}  # as scheduled, and as begun

    def run(self, schedule: Sequence[Fault], until: float) -> None:
        """Carry out a schedule that begins now; return after `until` seconds.

        Faults that have not ended by then continue.
        """
        start = self._network.now
        acts = [(each.at, self.begin, each) for each in schedule]
        acts += [(each.end, self.end, each) for each in schedule if each.duration]
        for at, act, fault in sorted(acts, key=lambda each: each[0]):
            if at < until:
                self._network.wait(start + at)
                act(fault)
        self._network.wait(start + until)

    def begin(self, fault: Fault) -> None:
        """Begin a fault, if possible."""
        begun = self._at_router(fault)
        event = FaultEvent(self._network.now, begun.of, begun.kind)
        if self._network.begin(begun):
            self._record(event)
            if begun.duration:
                self.active[fault] = begun

    def end(self, fault: Fault) -> None:
        """End a fault that has begun."""
        begun = self.active.pop(fault, None)
        if begun is not None:
            self._network.end(begun)
            self._record(FaultEvent(self._network.now, begun.of, begun.kind, is_end=True))

    def end_all(self) -> None:
        """End all faults."""
        for fault in [*self.active]:
            self.end(fault)
