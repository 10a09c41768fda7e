"""Live table: a forwarding table that changes while others match with it [2003 §4.1].

    base      compiled, large; less what was removed since
    levels    compiled, smaller: what was added since the base, oldest first, less what was removed
    recents   the newest filters, not compiled; the last of them takes what is added now

A message is matched against all of them. When there is much that is recent, a thread in the
background compiles it to a level; it also merges the levels into one and, when they have grown,
with the base. Those who change the table never wait for it.

Invariant: at every moment the union of what is alive in base, levels and recents matches what the
filters say that were added and not removed. A filter that was left out of the base because another
covered it is added again before that one is removed. A change of several filters becomes visible as
a whole: readers take one state, and such a change publishes a new one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, cast

from cbnet._kernels.pivot_table import match_together
from cbnet.errors import CbnetError, InputError
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.relations.covering import PredicateLike, as_predicate
from cbnet.matching.compiled_table import Compiled
from cbnet.matching.level import Level
from cbnet.matching.memtable import Item, Recent
from cbnet.matching.spellings import Spellings, filters_by_tests
from cbnet.matching.storage.codes import Test
from cbnet.matching.storage.columns import columns_of_encoded
from cbnet.matching.storage.filter_code import Tests, encode_filter
from cbnet.matching.storage.merge import joined
from cbnet.matching.table import Key, Table, checked_interface

GROWTH = 4  # a level that is at most so many times what is merged is merged too
BASE_SHARE = 4  # levels that hold more than 1/4 of the base, and LEAST_MERGE, are merged with it
LEAST_MERGE = 50_000
CATCH_UP_MOST = 256  # removals that are repeated while those who change the table wait


class _State(NamedTuple):
    levels: tuple[Level, ...]  # the first is the base
    recents: tuple[Recent, ...]  # the last takes what is added

    def copy(self) -> _State:
        return _State(tuple(level.copy() for level in self.levels), tuple(recent.copy() for recent in self.recents))


class LiveTable(Generic[Key]):
    """A forwarding table that can be changed; matching goes on meanwhile, in any thread."""

    def __init__(self, table: Table[Key] | None = None) -> None:
        base = table if table is not None else cast("Table[Key]", Table.build({}))
        if base._compiled.engine != "pivot":
            raise InputError(
                f"a table of the engine {base._compiled.engine} cannot be changed",
                hint="compile it for the engine pivot",
            )
        self._labels: list[Key] = list(base)
        self._targets = {label: target for target, label in enumerate(self._labels)}
        self._state = _State((Level(base._compiled),), (Recent(),))
        self._spellings = Spellings()
        self._lock = threading.RLock()
        self._compiled_hashes: set[int] = set()  # of filters that may be in a level
        self._log: list[Item] | None = None  # removals since a merge began
        self._merger: threading.Thread | None = None
        self._merge_error: BaseException | None = None
        self.merges = 0
        if base._predicates is not None and base._compiled.has_test(Test.BOOL_EQ):
            for target, predicate in enumerate(base._predicates.values()):
                for tests, filters in filters_by_tests(predicate.filters).items():
                    self._spellings.replace((target, tests), filters)

    # --- matching

    def match(self, message: Message | Mapping[str, Any]) -> list[Key]:
        """Return the interfaces that the message goes to, in the order in which they were first named."""
        if self._merger is not None:
            time.sleep(0)  # lets it go on now and not after 5 ms, so that what is recent stays little
        members = message if type(message) is dict else Message.of(message).to_dict()
        try:
            found = self._match(members)
        except UnicodeEncodeError:  # half of a surrogate pair
            found = None
        if found is None:  # something in it is not plain: a message that is wrong says so here
            found = self._match(Message.of(message).to_dict())
        return cast("list[Key]", found)

    def _match(self, members: dict[str, Any]) -> list[Any] | None:
        levels, recents = self._state
        remainders = tuple([level.remainder for level in levels])
        return match_together(remainders, tuple([recent.index for recent in recents]), members, self._labels)

    # --- changes

    def add(self, interface: Key, filter: Filter) -> bool:
        """Add a filter to the predicate of an interface; return whether it was not there yet."""
        tests = encode_filter(filter)
        with self._lock:
            item = (self._target(interface), tests)
            is_new = not self._contains(item)
            if is_new:
                self._state.recents[-1].add(item)
                self._start_merging()
            return self._spellings.add(item, filter, is_new=is_new)

    def remove(self, interface: Key, filter: Filter) -> bool:
        """Remove a filter from the predicate of an interface; return whether it was there."""
        tests = encode_filter(filter)
        with self._lock:
            target = self._known_target(interface)
            if target is None:
                return False
            others = self._spellings.remove((target, tests), filter)
            was_there = others is not None and (len(others) > 0 or self._remove(self._state, (target, tests)))
            self._start_merging()
            return was_there

    def replace(self, interface: Key, predicate: PredicateLike) -> None:
        """Give an interface another predicate; no reader sees only a part of the change."""
        wanted = filters_by_tests(as_predicate(predicate).filters)
        with self._lock:
            target = self._target(interface)
            present = set(self._filters(target))
            state = self._state.copy()
            for tests in wanted.keys() - present:
                state.recents[-1].add((target, tests))
            for tests in present - wanted.keys():
                self._remove(state, (target, tests))
            for tests in present | wanted.keys():
                self._spellings.replace((target, tests), wanted.get(tests, ()))
            self._state = state
            self._start_merging()

    def filters(self, interface: Key) -> set[Filter]:
        """Return the filters of an interface."""
        with self._lock:
            target = self._known_target(interface)
            if target is None:
                return set()
            return {filter for tests in self._filters(target) for filter in self._spellings.filters((target, tests))}

    def snapshot(self) -> Table[Key]:
        """Return the table as it is now, compiled anew from its filters."""
        with self._lock:
            state = self._state.copy()
            labels = list(self._labels)
        items = [item for recent in state.recents for item in recent]
        parts = [*(level.alive() for level in state.levels), columns_of_encoded(labels, items)]
        return Table(Compiled.build(joined(parts, labels)))

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
        target = self._known_target(interface)
        if target is None:
            target = self._targets[interface] = len(self._labels)
            self._labels.append(interface)
        return target

    def _known_target(self, interface: Key) -> int | None:
        return self._targets.get(cast("Key", checked_interface(interface)))

    def _contains(self, item: Item) -> bool:
        if any(item in recent for recent in self._state.recents):
            return True
        return any(level.contains(item) for level in self._levels_of(self._state, item))

    def _levels_of(self, state: _State, item: Item) -> Iterable[Level]:
        """Return the levels that may hold a filter."""
        return state.levels if hash(item) in self._compiled_hashes else state.levels[:1]

    def _filters(self, target: int) -> Iterable[Tests]:
        for level in self._state.levels:
            yield from level.filters(target)
        for recent in self._state.recents:
            yield from (tests for owner, tests in recent if owner == target)

    def _remove(self, state: _State, item: Item) -> bool:
        """Remove a filter wherever it is; what only it covered is added before."""
        if self._log is not None:
            self._log.append(item)
        was_there = False
        for level in self._levels_of(state, item):
            removal = level.find(item)
            if removal is not None:
                for revived in removal.revived:
                    state.recents[-1].add(revived)
                level.apply(removal)
                was_there = True
        for recent in state.recents:
            was_there |= recent.discard(item)
        return was_there

    # --- merging, in a thread of its own

    def _start_merging(self) -> None:
        if self._merger is None and self._is_merge_due():
            self._merger = threading.Thread(target=self._merge, name="cbnet-merge")
            self._merger.start()

    def _is_merge_due(self) -> bool:
        return self._state.recents[-1].is_full() or self._state.levels[0].is_mostly_gone()

    def _merge(self) -> None:
        try:
            while (merge := self._begin_merge()) is not None:
                self._end_merge(merge, merge.level())
                self.merges += 1
        except BaseException as error:  # shown by `wait`; the table goes on as it is
            self._merge_error = error
        finally:
            with self._lock:
                self._log = None
                self._merger = None

    def _begin_merge(self) -> _Merge | None:
        """Choose what to merge: all that is recent, and the levels that are not much larger than it."""
        with self._lock:
            levels, recents = self._state
            if not self._is_merge_due():
                return None
            self._state = _State(levels, (*recents, Recent()))
            self._log = []
            items = [item for recent in recents for item in recent]
            self._compiled_hashes.update(map(hash, items))
            size, first = len(items), len(levels)
            while first > 1 and len(levels[first - 1]) <= GROWTH * size:
                first -= 1
                size += len(levels[first])
            if levels[0].is_mostly_gone() or size > max(LEAST_MERGE, len(levels[0]) // BASE_SHARE):
                first = 0
            labels = range(len(self._labels)) if first else list(self._labels)
            return _Merge(first, [level.copy() for level in levels[first:]], len(recents), items, labels, self._log)

    def _end_merge(self, merge: _Merge, level: Level) -> None:
        """Put a level in the place of what it was made of, and repeat what was removed meanwhile."""
        log = merge.log
        revived: dict[Item, None] = {}
        done = 0
        while (behind := len(log) - done) > CATCH_UP_MOST:
            _catch_up(level, log[done : done + behind], revived)
            done += behind
        with self._lock:
            _catch_up(level, log[done:], revived)
            levels, recents = self._state
            for item in revived:
                recents[-1].add(item)
            self._state = _State((*levels[: merge.first], level), recents[merge.recents :])
            self._log = None
            if merge.first == 0:
                self._compiled_hashes.clear()


class _Merge(NamedTuple):
    """What becomes one level: the last levels of a state, and the first of its recents."""

    first: int  # of the levels; 0: the base too
    levels: list[Level]
    recents: int
    items: list[Item]  # of the recents
    labels: Sequence[Any]
    log: list[Item]  # removals since it began; grows

    def level(self) -> Level:
        parts = [level.alive() for level in self.levels]
        columns = joined([*parts, columns_of_encoded(self.labels, self.items)], self.labels)
        return Level(Compiled.build(columns, reduce=self.first == 0, labelled=False))


def _catch_up(level: Level, log: Iterable[Item], revived: dict[Item, None]) -> None:
    """Remove from a new level what was removed while it was made; note what must be added elsewhere.

    What one removal revives, a later one may have removed again.
    """
    for item in log:
        revived.pop(item, None)
        removal = level.find(item)
        if removal is not None:
            revived.update(dict.fromkeys(removal.revived))
            level.apply(removal)
