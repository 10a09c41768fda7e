"""Many random schedules of failures and changes over small random networks, each reproducible from its seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cbnet_lab.faults.random_schedule import RandomSchedule

if TYPE_CHECKING:
    from cbnet_lab.bench.routing import Routing
    from cbnet_lab.faults.check.findings import Findings

KINDS = {  # of violations
    "missed": "lost",
    "missed_confirmed": "unkept",
    "twice": "repeated",
    "spurious": "spurious",
    "order": "order",
    "tables_differ": "tables",
    "packets_differ": "packets",
    "unsettled": "unsettled",
}
_CHANGES = 25  # in each schedule
_MAX_EXAMPLES = 20


@dataclass
class SchedulesOutcome:
    """The sum of the results of schedules."""

    routing: Routing
    first_seed: int
    schedules: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)  # by kind
    events: Counter[str] = field(default_factory=Counter)
    broken: list[int] = field(default_factory=list)  # seeds
    examples: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether no check of any schedule failed."""
        return not self.broken

    @property
    def deliveries(self) -> int:
        """The number of deliveries that were checked in networks that had settled."""
        return self.counts["checked"] - self.counts["confirmed"]

    def add(self, seed: int, found: Findings) -> None:
        """Add the result of a schedule."""
        self.schedules += 1
        self.counts += found.counts
        self.events += found.faults
        self.violations.update({name: found.number(kind) for name, kind in KINDS.items()})
        self.examples += [f"seed {seed}, {text}" for text in found.texts()]
        del self.examples[_MAX_EXAMPLES:]
        if not found.is_good:
            self.broken.append(seed)

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        return {
            "trees": str(self.routing), "first_seed": self.first_seed, "schedules": self.schedules,
            "deliveries": self.deliveries, "confirmed": self.counts["confirmed"], **dict(self.violations),
            "events": dict(sorted(self.events.items())), "is_good": self.is_good, "broken_seeds": self.broken,
            "violations": self.examples,
        }  # fmt: skip


def bench_schedules(routing: Routing, first_seed: int, count: int, advance: Callable[[], None]) -> SchedulesOutcome:
    """Run schedules with consecutive seeds; `advance` is called after each."""
    outcome = SchedulesOutcome(routing, first_seed)
    for seed in range(first_seed, first_seed + count):
        outcome.add(seed, RandomSchedule(seed, **routing.settings).run(_CHANGES))
        advance()
    return outcome
