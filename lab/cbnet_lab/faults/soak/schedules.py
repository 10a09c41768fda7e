"""Many random schedules of failures and changes over small random networks, each reproducible from its seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cbnet_lab.faults.soak.random_schedule import RandomSchedule

if TYPE_CHECKING:
    from cbnet_lab.bench.routing import Routing
    from cbnet_lab.faults.soak.random_schedule import ScheduleVerdict

_CHANGES = 25  # in each schedule
_MAX_EXAMPLES = 20


@dataclass
class SchedulesOutcome:
    """The sum of the results of schedules."""

    routing: Routing
    first_seed: int
    schedules: int = 0
    deliveries: int = 0  # checked in networks that had settled
    confirmed: int = 0  # messages published after a confirmation, and checked
    violations: Counter[str] = field(default_factory=Counter)  # by kind
    events: Counter[str] = field(default_factory=Counter)
    broken: list[int] = field(default_factory=list)  # seeds
    examples: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether no check of any schedule failed."""
        return not self.broken

    def add(self, seed: int, verdict: ScheduleVerdict) -> None:
        """Add the result of a schedule."""
        self.schedules += 1
        self.deliveries += verdict.delivered
        self.confirmed += verdict.confirmed
        self.events += verdict.events
        for kind, found in _violations(verdict).items():
            self.violations[kind] += len(found)
            self.examples += [f"seed {seed}, {kind}: {text}" for text in found]
        del self.examples[_MAX_EXAMPLES:]
        if not verdict.is_good:
            self.broken.append(seed)

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        return {
            "trees": str(self.routing), "first_seed": self.first_seed, "schedules": self.schedules,
            "deliveries": self.deliveries, "confirmed": self.confirmed, **dict(self.violations),
            "events": dict(sorted(self.events.items())), "is_good": self.is_good, "broken_seeds": self.broken,
            "violations": self.examples,
        }  # fmt: skip


def bench_schedules(
    routing: Routing, first_seed: int, count: int, advance: Callable[[], None]
) -> SchedulesOutcome:  # fmt: skip
    """Run schedules with consecutive seeds; `advance` is called after each."""
    outcome = SchedulesOutcome(routing, first_seed)
    for seed in range(first_seed, first_seed + count):
        schedule = RandomSchedule(seed, **routing.settings)
        outcome.add(seed, schedule.run(_CHANGES))
        advance()
    return outcome


def _violations(verdict: ScheduleVerdict) -> dict[str, list[str]]:
    return {
        "missed": verdict.missed,
        "missed_confirmed": verdict.unkept,
        "twice": verdict.duplicates,
        "spurious": verdict.spurious,
        "tables_differ": verdict.tables,
        "packets_differ": verdict.packets,
        "unsettled": verdict.unsettled,
    }
