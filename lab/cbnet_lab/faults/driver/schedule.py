"""Schedules of faults, as data: what breaks, when, and for how long; random ones follow from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Fault:
    """A fault of a router, a client, or a link such as r1-r2; it ends after a duration, or never if that is 0."""

    at: float  # seconds from the beginning
    kind: str
    of: str
    duration: float = 0.0
    size: float = 0.0  # seconds by which a clock jumps, or that a write takes

    @property
    def end(self) -> float:
        """The time of its end."""
        return self.at + self.duration


@dataclass(frozen=True)
class FaultRate:
    """How often a kind of fault happens to one of some parts, and how long it lasts on average."""

    kind: str
    parts: Sequence[str]
    per_second: float
    duration: float = 0.0
    sizes: Sequence[float] = (0.0,)


def random_schedule(random: Random, rates: Sequence[FaultRate], first: float, last: float) -> list[Fault]:
    """Return faults between two times, in order; those of one part do not overlap, except slow disks."""
    faults: list[Fault] = []
    for rate in rates:
        at = first + random.expovariate(rate.per_second) if rate.parts else last
        while at < last:
            duration = rate.duration * random.uniform(0.1, 2.0)
            faults.append(Fault(at, rate.kind, random.choice(rate.parts), duration, random.choice(rate.sizes)))
            at += random.expovariate(rate.per_second)
    schedule: list[Fault] = []
    busy: dict[tuple[str, bool], float] = {}  # by part: until when
    for fault in sorted(faults, key=lambda each: each.at):
        part = fault.of, fault.kind == "slow disk"  # meanwhile its router may be killed
        if busy.get(part, 0.0) <= fault.at:
            schedule.append(fault)
            busy[part] = fault.end
    return schedule
