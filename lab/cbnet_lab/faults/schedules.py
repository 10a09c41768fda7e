"""Many random schedules of failures and changes over small random networks, each reproducible from its seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cbnet_lab.bench.result_table import ResultTable
from cbnet_lab.faults.random_schedule import RandomSchedule

if TYPE_CHECKING:
    from cbnet_lab.bench.bench_input import Report
    from cbnet_lab.bench.routing import Routing
    from cbnet_lab.faults.check.findings import Findings
    from cbnet_lab.faults.plans import SchedulesPlan

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
    def problem(self) -> str | None:
        """The first seed that violates a guarantee, if any."""
        where = f"--trees {self.routing} --seed {self.broken[0]}" if self.broken else ""
        return f"guarantees violated, first with {where}: please report this" if where else None

    def faults(self, name: str) -> int:
        """Return the number of kills, or of cuts, of any kind."""
        return sum(count for kind, count in self.events.items() if name in kind)

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
            "events": dict(sorted(self.events.items())), "is_good": not self.broken, "broken_seeds": self.broken,
            "violations": self.examples,
        }  # fmt: skip


def run(plan: SchedulesPlan, report: Report) -> Iterator[SchedulesOutcome]:
    """Run schedules with consecutive seeds, with each routing."""
    for routing in plan.trees:
        outcome = SchedulesOutcome(routing, plan.seed)
        for seed in range(plan.seed, plan.seed + plan.schedules):
            report(f"trees {routing}: schedule {outcome.schedules + 1:,} of {plan.schedules:,}")
            outcome.add(seed, RandomSchedule(seed, **routing.settings).run(_CHANGES))
        yield outcome


def tables(plan: SchedulesPlan, rows: Sequence[SchedulesOutcome]) -> Iterator[str | ResultTable[SchedulesOutcome]]:
    """Yield the numbers of checks and violations."""
    yield f"random schedules, seeds {plan.seed:,} to {plan.seed + plan.schedules - 1:,}\n"
    yield ResultTable("Checked", rows, {
        "trees": "routing",
        "schedules": "schedules",
        "kills": lambda row: row.faults("kill"),
        "cuts": lambda row: row.faults("cut"),
        "deliveries": "deliveries",
        "after a confirmation": lambda row: row.counts["confirmed"],
    })  # fmt: skip
    kinds = {kind.replace("_", " "): lambda row, kind=kind: row.violations[kind] for kind in KINDS}
    yield ResultTable("Violations", rows, {"trees": "routing", **kinds})
    for row in rows:
        yield from (f"{row.routing}: {example}" for example in row.examples)
