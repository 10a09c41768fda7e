"""Live table: a forwarding table that changes while others match with it [2003 §4.1].

    base      compiled, large; with bits for postings that were removed since
    levels    compiled, smaller: what was added since the base, oldest first, with such bits too
    recent    the newest filters, not compiled

A message is matched against all of them. `recent` becomes a level when it is full; levels are merged
into one, and when they have grown, with the base, by a thread in the background.

Invariant: at every moment the union of what is alive in base, levels and recent matches what the
filters say that were added and not removed. A filter that was left out of the base because another
covered it is added again before that one is removed. A change of several filters becomes visible as
a whole: readers take one state, and such a change publishes a new one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, cast

from cbnet.errors import CbnetError
from cbnet.language.constraint import Constraint, Op
from cbnet.language.covering import PredicateLike, as_predicate
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.values import Kind
from cbnet.matching.columns import columns_of_filters
from cbnet.matching.compiled import Compiled
from cbnet.matching.joined import joined
from cbnet.matching.level import Level
from cbnet.matching.recent import Item, Recent
from cbnet.matching.table import Key, Table, checked_interface

RECENT_MOST = 512  # filters before they are compiled
LEVELS_MOST = 4  # levels beside the base before they are merged
BASE_SHARE = 8  # levels that hold more than 1/8 of the base, and LEAST_MERGE, are merged with it
LEAST_MERGE = 50_000


def plain(filter: Filter) -> Filter:
    """Return a filter as a compiled table gives it back: `x != true` as `x = false`."""
    if not any(constraint.kind is Kind.BOOL and constraint.op is Op.NE for constraint in filter.constraints):
        return filter
    return Filter(map(_plain, filter.constraints), filter.tags)


def _plain(constraint: Constraint) -> Constraint:
    is_negative = constraint.kind is Kind.BOOL and constraint.op is Op.NE
    return Constraint(constraint.name, Op.EQ, not constraint.value) if is_negative else constraint


def _catch_up(level: Level, log: Iterable[Item]) -> Iterable[Item]:
    """Remove from a new level what was removed while it was made; return what must be added elsewhere.

    What one removal revives, a later one may have removed again.
    """
    revived: dict[Item, None] = {}
    for item in log:
        revived.pop(item, None)
        removal = level.find(item)
        if removal is not None:
            revived.update(dict.fromkeys(removal.revived))
            level.apply(removal)
    return revived


class _State(NamedTuple):
    levels: tuple[Level, ...]  # the first is the base
    recent: Recent


class LiveTable(Generic[Key]):
    """A forwarding table that can be changed; matching goes on meanwhile, in any thread."""

    def __init__(self, table: Table[Key] | None = None) -> None:
        base = table if table is not None else cast("Table[Key]", Table.build({}))
        self._labels: list[Key] = list(base)
        self._targets = {label: target for target, label in enumerate(self._labels)}
        self._state = _State((Level(base._compiled),), Recent())
        self._lock = threading.RLock()
        self._log: list[Item] | None = None  # removals since a merge began
        self._merger: threading.Thread | None = None
        self._merge_error: BaseException | None = None
        self.merges = 0

    # --- matching

    def match(self, message: Message | Mapping[str, Any]) -> list[Key]:
        """Return the interfaces that the message goes to, in the order in which they were first named."""
        state = self._state
        members = message if type(message) is dict else Message.of(message).to_dict()
        base, *levels = state.levels
        found: set[int] = set()
        for level in levels:
            targets = level.match(members)
            if targets is None:
                return self.match(Message.of(message))
            found.update(targets)
        if len(state.recent):
            found |= state.recent.match(members)
        if not found:
            labels = base.match(members, self._labels)
            return self.match(Message.of(message)) if labels is None else cast("list[Key]", labels)
        found.update(base.match(members) or ())
        return [self._labels[target] for target in sorted(found)]

    # --- changes

    def add(self, interface: Key, filter: Filter) -> bool:
        """Add a filter to the predicate of an interface; return whether it was not there yet."""
        with self._lock:
            item = (self._target(interface), plain(filter))
            if self._contains(item):
                return False
            self._state.recent.add(item)
            self._compile_recent_if_full()
            return True

    def remove(self, interface: Key, filter: Filter) -> bool:
        """Remove a filter from the predicate of an interface; return whether it was there."""
        with self._lock:
            if interface not in self._targets:
                return False
            item = (self._targets[interface], plain(filter))
            was_there = self._remove(self._state, item)
            self._compile_recent_if_full()
            return was_there

    def replace(self, interface: Key, predicate: PredicateLike) -> None:
        """Give an interface another predicate; no reader sees only a part of the change."""
        wanted = set(map(plain, as_predicate(predicate).filters))
        with self._lock:
            target = self._target(interface)
            present = set(self._filters(target))
            state = _State(tuple(level.copy() for level in self._state.levels), self._state.recent.copy())
            for filter in wanted - present:
                state.recent.add((target, filter))
            for filter in present - wanted:
                self._remove(state, (target, filter))
            self._state = state
            self._compile_recent_if_full()

    def filters(self, interface: Key) -> set[Filter]:
        """Return the filters of an interface."""
        with self._lock:
            return set(self._filters(self._targets[interface])) if interface in self._targets else set()

    def snapshot(self) -> Table[Key]:
        """Return the table as it is now, compiled anew from its filters."""
        with self._lock:
            state = _State(tuple(level.copy() for level in self._state.levels), self._state.recent.copy())
            labels = list(self._labels)
        return Table(Compiled.build(self._columns(state.levels, state.recent, labels)))

    def save(self, path: str | Path) -> int:
        """Write the table as it is now to a file; return its size."""
        return self.snapshot().save(path)

    def wait(self) -> None:
        """Wait until no merge is going on; raise what ended one before its time."""
        while (merger := self._merger) is not None:
            merger.join()
        if self._merge_error is not None:
            raise CbnetError(f"a merge failed: {self._merge_error!r}") from self._merge_error

    def __len__(self) -> int:
        return len(self._labels)

    # --- inside; the lock is held

    def _target(self, interface: Key) -> int:
        if interface not in self._targets:
            checked_interface(interface)
            self._targets[interface] = len(self._labels)
            self._labels.append(interface)
        return self._targets[interface]

    def _contains(self, item: Item) -> bool:
        return item in self._state.recent or any(level.contains(item) for level in self._state.levels)

    def _filters(self, target: int) -> Iterable[Filter]:
        for level in self._state.levels:
            yield from level.filters(target)
        yield from (filter for owner, filter in self._state.recent if owner == target)

    def _remove(self, state: _State, item: Item) -> bool:
        """Remove a filter wherever it is; what only it covered is added before."""
        if self._log is not None:
            self._log.append(item)
        was_there = False
        for level in state.levels:
            removal = level.find(item)
            if removal is not None:
                for revived in removal.revived:
                    state.recent.add(revived)
                level.apply(removal)
                was_there = True
        return state.recent.discard(item) or was_there

    def _compile_recent_if_full(self) -> None:
        recent = self._state.recent
        if len(recent) >= RECENT_MOST:
            columns = columns_of_filters(range(len(self._labels)), list(recent))
            level = Level(Compiled.build(columns, reduce=False, labelled=False))
            self._state = _State((*self._state.levels, level), Recent())
            self._start_merging()

    # --- merging, in a thread of its own

    def _start_merging(self) -> None:
        if self._merger is None and len(self._state.levels) > LEVELS_MOST:
            self._merger = threading.Thread(target=self._merge, name="cbnet-merge", daemon=True)
            self._merger.start()

    def _merge(self) -> None:
        try:
            while self._merge_once():
                self.merges += 1
        except BaseException as error:  # shown by `wait`; the table goes on as it is
            self._merge_error = error
        finally:
            with self._lock:
                self._log = None
                self._merger = None

    def _merge_once(self) -> bool:
        with self._lock:
            levels = self._state.levels
            if len(levels) <= LEVELS_MOST:
                return False
            added = sum(len(level) for level in levels[1:])
            with_base = added > max(LEAST_MERGE, len(levels[0]) // BASE_SHARE)
            chosen = levels if with_base else levels[1:]
            copies = [level.copy() for level in chosen]
            labels = list(self._labels)
            self._log = []
        columns = self._columns(copies, Recent(), labels if with_base else range(len(labels)))
        merged = Level(Compiled.build(columns, reduce=with_base, labelled=False))
        with self._lock:
            state = self._state
            first = 0 if with_base else 1
            levels = (*state.levels[:first], merged, *state.levels[first + len(chosen) :])
            state = _State(levels, state.recent)
            log, self._log = self._log, None
            for item in _catch_up(merged, log or ()):
                state.recent.add(item)
            self._state = state
        return True

    def _columns(self, levels: Sequence[Level], recent: Recent, labels: Sequence[Any]) -> Any:
        parts = [level.alive() for level in levels]
        return joined([*parts, columns_of_filters(labels, list(recent))], labels)
