"""The update benchmark: the rate of changes to a live table, and their cost for concurrent matching.

One thread adds and removes single filters at a fixed rate, as many removals as additions; half of the
removals are original filters, half are added ones. Another thread matches continuously. From time to
time both pause, and the answers to some messages are checked.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.live_table import LiveTable
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet.matching.table import Table
from cbnet_lab import workload
from cbnet_lab.bench.plans import Report, UpdatesPlan
from cbnet_lab.bench.result_table import ResultTable, shown, shown_columns

_TICK = 0.01  # seconds between bursts of updates
_IDLE_SECONDS = 3.0
_CHECKED_MESSAGES = 5


@dataclass(frozen=True)
class UpdatesResult:
    """Measurements and the outcome of the checks."""

    filters: int = shown("filters")
    seconds: float = shown("seconds")
    updates: int = shown("updates")
    updates_per_second: float = shown("updates per second")
    us_update: float = shown("µs per update, including waits for the interpreter")
    us_match_idle: float = shown("µs per message without updates")
    us_match_busy: float = shown("µs per message with updates")
    merges: int = shown("merges")
    checks: int = shown("answers compared")
    equal: bool = shown("right")
    speed_kept: float = shown("speed kept, of matching")

    @property
    def problem(self) -> str | None:
        """The description of a wrong answer, if any."""
        return None if self.equal else "the table under updates; please report this"


@dataclass
class _History:
    """The changes made so far, which determine the expected content of the table."""

    original: Table[Any]
    table: LiveTable[Any]
    messages: Sequence[dict[str, Any]]
    base: list[tuple[int, Filter]]  # to remove, from the end
    fresh: list[tuple[int, Filter]]  # to add, from the end
    source: random.Random
    removed: dict[tuple[int, Filter], None] = field(default_factory=dict)
    added: dict[tuple[int, Filter], None] = field(default_factory=dict)
    spent: float = 0.0
    updates: int = 0
    checks: int = 0
    equal: bool = True

    def update(self, rate: int, ended: threading.Event) -> None:
        """Apply updates at a rate, in bursts, until `ended` is set."""
        start, done = time.perf_counter(), 0
        while not ended.is_set():
            due = int((time.perf_counter() - start) * rate)
            began = time.perf_counter()
            for turn in range(self.updates, self.updates + due - done):
                self._update(turn)
            self.spent += time.perf_counter() - began
            self.updates += due - done
            done = due
            ended.wait(_TICK)

    def _update(self, turn: int) -> None:
        if turn % 2 == 0:
            target, filter = self.fresh.pop()
            self.table.add(target, filter)
            self.added[target, filter] = None
            self.removed.pop((target, filter), None)
        elif turn % 4 == 1 or not self.added:
            item = self.base.pop()
            self.table.remove(*item)
            self.removed[item] = None
            self.added.pop(item, None)
        else:
            item = next(iter(self.added))
            self.table.remove(*item)
            del self.added[item]

    def match(self, seconds: float) -> float:
        """Match for `seconds`; return the microseconds per message."""
        start, count = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            for message in self.messages[:50]:
                self.table.match(message)
            count += 50
        return (time.perf_counter() - start) / count * 1e6

    def check(self) -> None:
        """Compare some answers with the original table, corrected by the changes."""
        gone = {target for target, _ in self.removed}
        for members in self.source.sample(self.messages, _CHECKED_MESSAGES):
            message = Message.from_dict(members)
            expected = {target for target in self.original.match(members) if target not in gone}
            expected |= {target for target, filter in self.added if filter.matches(message)}
            self.equal &= set(self.table.match(members)) == expected
            self.checks += 1


def run(plan: UpdatesPlan, report: Report) -> Iterator[UpdatesResult]:
    """Run the benchmark on a table of the [2002] mix, one filter per interface."""
    history = _prepare(plan, report)
    history.table.match(history.messages[0])
    report("matching without updates")
    us_idle = history.match(_IDLE_SECONDS)
    turns = max(1, round(plan.seconds / 10))
    seconds, us_busy = 0.0, []
    for turn in range(turns):
        report(f"matching with updates, {turn + 1} of {turns}")
        ended = threading.Event()
        updater = threading.Thread(target=history.update, args=(plan.rate, ended))
        start = time.perf_counter()
        updater.start()
        us_busy.append(history.match(plan.seconds / turns))
        ended.set()
        updater.join()
        seconds += time.perf_counter() - start
        history.check()
    history.table.wait()
    history.check()
    yield UpdatesResult(
        filters=plan.filters,
        seconds=seconds,
        updates=history.updates,
        updates_per_second=history.updates / seconds,
        us_update=history.spent / max(1, history.updates) * 1e6,
        us_match_idle=us_idle,
        us_match_busy=fmean(us_busy),
        merges=history.table.merges,
        checks=history.checks,
        equal=history.equal,
        speed_kept=us_idle / fmean(us_busy),
    )


def _prepare(plan: UpdatesPlan, report: Report) -> _History:
    report("generating the workload")
    parameters = workload.mix("2002", filters=plan.filters, messages=500, seed=plan.seed)
    columns = columns_from_arrow(workload.filters(parameters))
    messages = workload.as_messages(workload.messages(parameters))
    report("compiling the table")
    original = Table[Any](CompiledTable.build(columns))
    report("preparing the updates")
    source, updates = random.Random(plan.seed), int(plan.rate * (plan.seconds + 1) / 2) + 1
    chosen = source.sample(range(plan.filters), min(plan.filters, updates // 2 + 1))
    base = [(int(columns.interfaces[columns.targets[index]]), columns.filter(index)) for index in chosen]
    new = columns_from_arrow(workload.filters(workload.mix("2002", filters=updates, messages=1, seed=plan.seed + 1)))
    fresh = [(source.randrange(plan.filters), new.filter(index)) for index in range(updates)]
    for item in (*base, *fresh):
        hash(item)  # cached now, so that the benchmark's own bookkeeping is not measured
    return _History(original, LiveTable(original), messages, base, fresh, source)


def tables(plan: UpdatesPlan, rows: Sequence[UpdatesResult]) -> Iterator[ResultTable[UpdatesResult]]:
    """Yield the measurements."""
    title = f"Updates of a live table of the [2002] mix, one filter per interface, {plan.rate:,} per second"
    yield ResultTable(title, rows, shown_columns(UpdatesResult), is_list=True)
