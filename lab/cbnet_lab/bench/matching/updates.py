"""The update benchmark: the rate of changes to a live table, and their cost for concurrent matching.

One thread adds and removes single filters at a fixed rate, as many removals as additions; half of the
removals are original filters, half are added ones. Another thread matches all the time. Now and then
both pause, and the answers to some messages are checked.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.live_table import LiveTable
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet.matching.table import Table
from cbnet_lab import workload
from cbnet_lab.bench.result_table import ResultTable, shown, shown_columns

if TYPE_CHECKING:
    from cbnet_lab.bench.bench_input import Report
    from cbnet_lab.bench.plans import UpdatesPlan

_TICK = 0.01  # seconds between bursts of updates
_IDLE_SECONDS = 3.0
_CHECKED_MESSAGES = 5


@dataclass
class UpdatesResult:
    """Measurements and the outcome of the checks."""

    filters: int = shown("filters")
    seconds: float = shown("seconds", default=0.0)
    updates: int = shown("updates", default=0)
    updates_per_second: float = shown("updates per second", default=0.0)
    us_update: float = shown("µs per update, including waits for the interpreter", default=0.0)
    us_match_idle: float = shown("µs per message without updates", default=0.0)
    us_match_busy: float = shown("µs per message with updates", default=0.0)
    merges: int = shown("merges", default=0)
    checks: int = shown("answers compared", default=0)
    equal: bool = shown("right", default=True)
    speed_kept: float = shown("speed kept, of matching", default=0.0)

    @property
    def problem(self) -> str | None:
        """What is wrong, if an answer is."""
        return None if self.equal else "the table under updates; please report this"


@dataclass
class _History:
    """The changes made so far, and so the expected content of the table."""

    table: LiveTable[Any]
    base: list[tuple[int, Filter]]  # to remove, from the end
    fresh: list[tuple[int, Filter]]  # to add, from the end
    removed: dict[tuple[int, Filter], None] = field(default_factory=dict)
    added: dict[tuple[int, Filter], None] = field(default_factory=dict)
    source: random.Random = field(default_factory=random.Random)
    spent: float = 0.0
    updates: int = 0

    def burst(self, count: int) -> None:
        start = time.perf_counter()
        for turn in range(self.updates, self.updates + count):
            self._update(turn)
        self.spent += time.perf_counter() - start
        self.updates += count

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


def run(plan: UpdatesPlan, report: Report) -> Iterator[UpdatesResult]:
    """Run the benchmark on a table of the [2002] mix, one filter per interface."""
    report("generating the workload")
    parameters = workload.mix("2002", filters=plan.filters, messages=500, seed=plan.seed)
    columns = columns_from_arrow(workload.filters(parameters))
    messages = workload.as_messages(workload.messages(parameters))
    report("compiling the table")
    original = Table[Any](CompiledTable.build(columns))
    report("preparing the updates")
    history = _prepare(columns, original, plan.filters, int(plan.rate * (plan.seconds + 1) / 2) + 1, plan.seed)
    result = UpdatesResult(plan.filters)
    history.table.match(messages[0])
    report("matching without updates")
    result.us_match_idle = _match_for(history.table, messages, _IDLE_SECONDS)
    _run(history, original, messages, plan, result, report)
    history.table.wait()
    _check(history, original, messages, result)
    result.merges = history.table.merges
    result.us_update = history.spent / max(1, history.updates) * 1e6
    result.updates = history.updates
    result.speed_kept = result.us_match_idle / result.us_match_busy
    yield result


def tables(plan: UpdatesPlan, rows: Sequence[UpdatesResult]) -> Iterator[ResultTable[UpdatesResult]]:
    """Yield the measurements."""
    title = f"Updates of a live table of the [2002] mix, one filter per interface, {plan.rate:,} per second"
    yield ResultTable(title, rows, shown_columns(UpdatesResult), is_list=True)


def _prepare(columns: Any, original: Table[Any], filters: int, updates: int, seed: int) -> _History:
    source = random.Random(seed)
    chosen = source.sample(range(filters), min(filters, updates // 2 + 1))
    base = [(int(columns.interfaces[columns.targets[index]]), columns.filter(index)) for index in chosen]
    new = columns_from_arrow(workload.filters(workload.mix("2002", filters=updates, messages=1, seed=seed + 1)))
    fresh = [(source.randrange(filters), new.filter(index)) for index in range(updates)]
    for item in (*base, *fresh):
        hash(item)  # cached now, so that the benchmark's own bookkeeping is not measured
    return _History(LiveTable(original), base, fresh, source=source)


def _match_for(table: LiveTable[Any], messages: list[dict[str, Any]], seconds: float) -> float:
    """Match for `seconds`; return the microseconds per message."""
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        for message in messages[:50]:
            table.match(message)
        count += 50
    return (time.perf_counter() - start) / count * 1e6


def _run(
    history: _History,
    original: Table[Any],
    messages: list[Any],
    plan: UpdatesPlan,
    result: UpdatesResult,
    report: Report,
) -> None:
    """Update and match concurrently, in periods of a few seconds, with a check after each."""
    turns = max(1, round(plan.seconds / 10))
    spent_matching = []
    for turn in range(turns):
        report(f"matching with updates, {turn + 1} of {turns}")
        ended = threading.Event()
        updater = threading.Thread(target=_update_at, args=(history, plan.rate, ended))
        start, before = time.perf_counter(), history.updates
        updater.start()
        spent_matching.append(_match_for(history.table, messages, plan.seconds / turns))
        ended.set()
        updater.join()
        result.seconds += time.perf_counter() - start
        result.updates_per_second += (history.updates - before) / (time.perf_counter() - start) / turns
        _check(history, original, messages, result)
    result.us_match_busy = sum(spent_matching) / len(spent_matching)


def _update_at(history: _History, rate: int, ended: threading.Event) -> None:
    """Apply updates at a rate, in bursts, until `ended` is set."""
    start, done = time.perf_counter(), 0
    while not ended.is_set():
        due = int((time.perf_counter() - start) * rate)
        if due > done:
            history.burst(due - done)
            done = due
        ended.wait(_TICK)


def _check(history: _History, original: Table[Any], messages: list[Any], result: UpdatesResult) -> None:
    """Compare some answers with the original table, corrected by the changes."""
    gone = {target for target, _ in history.removed}
    for members in history.source.sample(messages, _CHECKED_MESSAGES):
        message = Message.from_dict(members)
        expected = {target for target in original.match(members) if target not in gone}
        expected |= {target for target, filter in history.added if filter.matches(message)}
        result.equal = result.equal and set(history.table.match(members)) == expected
        result.checks += 1
