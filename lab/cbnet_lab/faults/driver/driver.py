"""The driver of faults: it begins and ends the faults of a schedule, and records each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from cbnet_lab.faults.driver.schedule import Fault
from cbnet_lab.faults.record import FaultEvent


class FaultyNetwork(Protocol):
    """A network whose parts can be broken and mended."""

    @property
    def now(self) -> float:
        """The time, in seconds."""

    def wait(self, until: float) -> None:
        """Let the network run until some time."""

    def begin(self, fault: Fault) -> bool:
        """Break a part; return whether that was possible."""

    def end(self, fault: Fault) -> None:
        """Mend a part."""


class FaultDriver:
    """Carries out schedules of faults in a network."""

    def __init__(self, network: FaultyNetwork, record: Callable[[FaultEvent], None]) -> None:
        self._network = network
        self._record = record
        self.active: list[Fault] = []

    def run(self, schedule: Sequence[Fault], until: float) -> None:
        """Carry out a schedule that begins now; return after `until` seconds.

        A fault that has not ended then goes on.
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
        """Begin a fault, if that is possible."""
        event = FaultEvent(self._network.now, fault.of, fault.kind)
        if self._network.begin(fault):
            self._record(event)
            if fault.duration:
                self.active.append(fault)

    def end(self, fault: Fault) -> None:
        """End a fault that has begun."""
        if fault in self.active:
            self.active.remove(fault)
            self._network.end(fault)
            self._record(FaultEvent(self._network.now, fault.of, fault.kind, is_end=True))

    def end_all(self) -> None:
        """End all faults."""
        for fault in [*self.active]:
            self.end(fault)
