"""A table of rules that changes while other threads match messages against it [2003 §4.1].

    base       compiled, large; without the filters removed since
    levels     compiled, smaller: filters added since the base, oldest first, without those removed
    memtables  the newest filters, not compiled; the last one receives additions

A message is matched against all of them. When the memtable is full, a background thread compiles it to
a level; it also merges the levels into one and, when they have grown, with the base. Writers never wait
for it. Conditions and nested messages are matched against memtables in Python: a memtable that has cost
much is compiled early, and a message that would cost very much waits for that.

Invariant: at any time the live filters of base, levels and memtables match the same messages as the
filters that were added and not removed. A filter that was left out of the base because another covered
it is added again before the other is removed. A change of several filters becomes visible at once:
readers use one state, and such a change publishes a new one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Generic, NamedTuple, cast

from cbnet._kernels.pivot_memtable import have_conditions
from cbnet._kernels.pivot_table import match_together
from cbnet.errors import CbnetError, InputError, UndecidedError
from cbnet.language.filter import Filter
from cbnet.language.message import Leaf, Message
from cbnet.language.relations.covering import PredicateLike, as_predicate
from cbnet.language.search_budget import MAX_EXAMINED
from cbnet.matching.compiled_table import CompiledTable, members_of
from cbnet.matching.item_payment import ItemPayment, MatchingCredit
from cbnet.matching.level import Level
from cbnet.matching.memtable import MemTable, TargetFilter
from cbnet.matching.rule import checked_name
from cbnet.matching.spellings import Spellings, filters_by_tests
from cbnet.matching.storage.codes import Test
from cbnet.matching.storage.columns import columns_of_encoded, columns_of_tags
from cbnet.matching.storage.filter_encoding import EncodedFilter, encode_filter
from cbnet.matching.storage.merge import merge_columns
from cbnet.matching.storage.used_leaves import UsedArrays, computed_leaves, used_message
from cbnet.matching.table import Key, Table

GROWTH = 4  # a level up to 4 times as large as the filters being merged is merged with them
BASE_SHARE = 4  # levels larger than 1/4 of the base, and than MIN_MERGE, are merged with it
MIN_MERGE = 50_000
MAX_CATCH_UP = 32  # removals repeated on a new level while writers wait
MIN_SETTLED = 256  # filters of a memtable that is compiled when it does not change: fewer cost a message little


class _State(NamedTuple):
    levels: tuple[Level, ...]  # the first is the base
    memtables: tuple[MemTable, ...]  # the last receives additions

    def targets_using(self, name: str) -> Iterator[int]:
        """Yield the targets of the filters that use a computed attribute."""
        for level in self.levels:
            yield from level.targets_using(name)
        for memtable in self.memtables:
            yield from memtable.targets_using(name)

    def copy(self) -> _State:
        levels = tuple(level.copy() for level in self.levels)
        return _State(levels, tuple(memtable.copy() for memtable in self.memtables))


class _UsedNames:
    """The names that the filters of a state use; tags are always read."""

    names, count = 0, 1

    def __init__(self, state: _State) -> None:
        self._symbols = [level.compiled.symbols for level in state.levels]
        self._memtables = state.memtables

    def symbol(self, text: str, is_tag: bool) -> int:
        """Return 0 if a filter uses a name, else -1."""
        is_used = any(symbols.symbol(text, is_tag) >= 0 for symbols in self._symbols)
        return 0 if is_used or any(memtable.uses(text) for memtable in self._memtables) else -1

    def is_object(self, path: str) -> bool:
        """Return whether a filter uses an attribute of an object at a path."""
        is_used = any(symbols.is_object(path) for symbols in self._symbols)
        return is_used or any(memtable.uses_object(path) for memtable in self._memtables)

    @cached_property
    def arrays(self) -> UsedArrays:
        """What computed attributes depend on."""
        return UsedArrays.joined([*map(UsedArrays.of, self._symbols), *(table.arrays for table in self._memtables)])


class _TargetCredit:
    """A credit by the numbers of rules, for the kernel."""

    def __init__(self, credit: MatchingCredit, labels: Sequence[Any]) -> None:
        self._credit, self._labels = credit, labels

    def limit(self, target: int) -> int:
        return self._credit.limit(self._labels[target])

    def charge(self, target: int, count: int) -> None:
        self._credit.charge(self._labels[target], count)


class LiveTable(Generic[Key]):
    """A table of rules that can be changed while any thread matches messages against it."""

    reduces = True  # whether filters that others of their rule cover are left out of the base

    def __init__(self, table: Table[Key] | None = None) -> None:
        base = table if table is not None else cast("Table[Key]", Table.build({}))
        if base._compiled.engine != "pivot":
            raise InputError(
                f"a table of the engine {base._compiled.engine} cannot be changed",
                hint="compile it for the engine pivot",
            )
        self._rules = base._compiled.rules  # with a priority or metadata; rules that are added have none
        self._order = base._compiled.order
        self._labels: list[Key] = list(base)
        self._targets = {label: target for target, label in enumerate(self._labels)}
        self._state = _State((Level(base._compiled),), (MemTable(),))
        self._spellings = Spellings()
        self._lock = threading.RLock()
        self._compiled_hashes: set[int] = set()  # of filters that may be in a level above the base
        self._log: list[TargetFilter] | None = None  # removals since a merge began
        self._merger: threading.Thread | None = None
        self._merge_error: BaseException | None = None
        self._seen: tuple[MemTable | None, int] = (None, 0)  # the last memtable, and its size, when it was examined
        self._quiet = 0  # calls of `settle` in a row between which nothing changed
        self._is_settled = False  # whether filters do not change: small levels are merged into one
        self.merges = 0
        has_spellings = base._compiled.has_test(Test.BOOL_EQ) or base._compiled.has_test(Test.CONDITION)
        if base._predicates is not None and has_spellings:
            for target, predicate in enumerate(base._predicates.values()):
                for tests, filters in filters_by_tests(predicate.filters).items():
                    self._spellings.replace((target, tests), filters)

    # --- matching

    def match(self, message: Message | Mapping[str, Any], credit: MatchingCredit | None = None) -> list[Key]:
        """Return the rules that the message matches: highest priority first, then in the order of their first use.

        Raises UndecidedError if it has too many combinations of values; credit: how many may be examined for each rule,
        beyond what takes about a millisecond for the message. Only one thread may match with a credit.
        """
        if self._merger is not None:
            time.sleep(0)  # let it run now and not after 5 ms, so that the memtables stay small
        members = message if type(message) is dict else members_of(message)
        return self._match(members, None if credit is None else _TargetCredit(credit, self._labels), None)

    def _match(self, members: Any, credit: _TargetCredit | None, payment: ItemPayment | None) -> list[Key]:
        levels, memtables = self._state
        rules, undecided = _match_compiled(levels, memtables, members, self._labels, credit)
        if rules is None or have_conditions(memtables):
            state, names = _State(levels, memtables), _UsedNames(_State(levels, memtables))
            message = used_message(members, names)
            if credit is not None and names.arrays.names:
                payment = payment or ItemPayment(credit)
                message.limit_items(payment.budget, payment.known)
            computed, unknown = self._computed(message, state, names, payment)
            has_read = rules is not None
            if rules is None:
                read = {**message.leaves, **computed}, message.tags
                rules, undecided = _match_compiled(levels, (), read, self._labels, credit)
                rules = self._decided(rules or [], levels, unknown)
            undecided = [
                *undecided,
                *(self._labels[target] for name in unknown for target in state.targets_using(name)),
            ]
            if not self._is_cheap(message, state, conditional_only=has_read):
                return self._match(members, credit, payment)
            rules, unsure = self._with_recent(message, state, rules or [], conditional_only=has_read)
            undecided = [rule for rule in dict.fromkeys([*undecided, *unsure]) if rule not in rules]
        rules = rules if self._order is None else self._order.sorted_names(rules)
        if undecided:
            raise UndecidedError(undecided, rules, MAX_EXAMINED)
        return cast("list[Key]", rules)

    def _computed(
        self, message: Message, state: _State, names: _UsedNames, payment: ItemPayment | None
    ) -> tuple[dict[str, tuple[Leaf, ...]], list[str]]:
        """Return the leaves of the computed attributes of a message, and the names of those that are undecided."""

        def pay(name: str) -> bool:
            return payment is None or name in payment.known or payment.begin(state.targets_using(name))

        return computed_leaves(message, names.arrays, pay)

    def _decided(self, rules: list[Any], levels: Sequence[Level], unknown: Sequence[str]) -> list[Any]:
        """Return the rules that a message matches for sure: not as it has no value of an undecided attribute."""
        found = (level.targets_using(name, only_open=True) for level in levels for name in unknown)
        unsure = {self._labels[target] for targets in found for target in targets}
        return [rule for rule in rules if rule not in unsure]

    def _is_cheap(self, message: Message, state: _State, *, conditional_only: bool) -> bool:
        """Return whether Python matches a message with the memtables quickly; else they have been compiled."""
        is_cheap = all(table.count(message, conditional_only=conditional_only) for table in state.memtables)
        if self._is_merge_due() or not is_cheap:
            is_compiled = self._compile(wait=not is_cheap)
            return not is_compiled and (is_cheap or self._state.memtables is state.memtables)
        return True

    def _with_recent(
        self, message: Message, state: _State, rules: list[Any], *, conditional_only: bool
    ) -> tuple[list[Any], list[Any]]:
        """Return the rules of a message, with those that Python finds in the memtables, and those undecided there."""
        parts = [table.matches(message, conditional_only=conditional_only) for table in state.memtables]
        found = {target for targets, _ in parts for target in targets}
        undecided = [self._labels[target] for _, targets in parts for target in targets]
        if not found:
            return rules, undecided
        return [
            self._labels[target] for target in sorted(found.union(self._targets[each] for each in rules))
        ], undecided

    def _compile(self, *, wait: bool) -> bool:
        """Start to compile memtables; if `wait`, return whether it has been done."""
        with self._lock:
            self._start_merging()
            merger = self._merger
        if not wait or merger is None:
            return False
        merger.join()
        return self._merge_error is None

    # --- changes

    def add(self, name: Key, filter: Filter) -> bool:
        """Add a filter to the predicate of a rule; return whether it was absent."""
        tests = encode_filter(filter)
        with self._lock:
            item = (self._target(name), tests)
            memtable = self._state.memtables[-1]
            is_new = not self._contains(item) and memtable.add(item)
            if is_new and memtable.is_full():
                self._start_merging()
            return self._spellings.add(item, filter, is_new=is_new)

    def add_tests(self, name: Key, filters: Collection[EncodedFilter]) -> None:
        """Add filters that the rule does not have, none of them with `!=` and a bool."""
        with self._lock:
            target, memtable = self._target(name), self._state.memtables[-1]
            for tests in filters:
                memtable.add((target, tests))
            self._start_merging()

    def fill(self, filters: Iterable[tuple[Key, Filter]]) -> None:
        """Add very many filters that are not in the table; those of tags only are compiled at once, as its base."""
        self.wait()
        others: list[tuple[Key, Filter]] = []

        def descriptors() -> Iterator[tuple[int, Iterable[str]]]:
            for name, filter in filters:
                if filter.constraints or filter.conditions:
                    others.append((name, filter))
                else:
                    yield self._target(name), filter.tags

        with self._lock:
            levels, memtables = self._state
            if not any(map(len, levels)):
                columns = replace(columns_of_tags((), descriptors()), interfaces=list(self._labels))
                compiled = CompiledTable.build(columns, reduce=False, labelled=False)
                self._state = _State((Level(compiled),), memtables)
            else:
                others += filters
        for name, filter in others:
            self.add(name, filter)

    def remove(self, name: Key, filter: Filter) -> bool:
        """Remove a filter from the predicate of a rule; return whether it was present."""
        tests = encode_filter(filter)
        with self._lock:
            target = self._known_target(name)
            if target is None:
                return False
            others = self._spellings.remove((target, tests), filter)
            was_present = others is not None and (len(others) > 0 or self._remove(self._state, (target, tests)))
            self._start_merging()
            return was_present

    def remove_tests(self, name: Key, filters: Collection[EncodedFilter]) -> None:
        """Remove filters that the rule has, none of them with `!=` and a bool."""
        with self._lock:
            target = self._target(name)
            for tests in filters:
                self._remove(self._state, (target, tests))
            self._start_merging()

    def replace(self, name: Key, predicate: PredicateLike) -> None:
        """Replace the predicate of a rule; readers see the whole change or none of it."""
        filters = filters_by_tests(as_predicate(predicate).filters)
        with self._lock:
            target = self._target(name)
            present = set(self._filters(target))
            state = self._state.copy()
            for tests in filters.keys() - present:
                state.memtables[-1].add((target, tests))
            for tests in present - filters.keys():
                self._remove(state, (target, tests))
            for tests in present | filters.keys():
                self._spellings.replace((target, tests), filters.get(tests, ()))
            self._state = state
            self._start_merging()

    def filters(self, name: Key) -> set[Filter]:
        """Return the filters of a rule."""
        with self._lock:
            target = self._known_target(name)
            if target is None:
                return set()
            return {filter for tests in self._filters(target) for filter in self._spellings.filters((target, tests))}

    def snapshot(self) -> Table[Key]:
        """Return the current table, compiled from its filters."""
        with self._lock:
            state = self._state.copy()
            labels = list(self._labels)
        items = [item for memtable in state.memtables for item in memtable]
        parts = [*(level.alive() for level in state.levels), columns_of_encoded(labels, items)]
        return Table(CompiledTable.build(merge_columns(parts, labels), rules=self._rules.values()))

    def save(self, path: str | Path) -> int:
        """Write the current table to a file; return its size in bytes."""
        return self.snapshot().save(path)

    def settle(self) -> None:
        """Compile the newest filters, and merge levels, if none have changed since the last call.

        Call it from time to time: the longer nothing changes, the larger the levels that are merged.
        """
        with self._lock:
            levels, memtables = self._state
            newest = memtables[-1]
            self._quiet = self._quiet + 1 if self._seen == (newest, len(newest)) else 0
            has_small_levels = len(levels) > 2 and sum(map(len, levels[1:])) <= self._quiet * MIN_MERGE
            if self._quiet and (len(newest) >= MIN_SETTLED or has_small_levels):
                self._is_settled = True
                self._start_merging()
            self._seen = newest, len(newest)

    def wait(self) -> None:
        """Wait until no merge is running; raise CbnetError if one failed."""
        while (merger := self._merger) is not None:
            merger.join()
        if self._merge_error is not None:
            raise CbnetError(f"a merge failed: {self._merge_error!r}") from self._merge_error

    def __len__(self) -> int:
        return len(self._labels)

    # --- internal; the lock is held

    def _target(self, name: Key) -> int:
        target = self._known_target(name)
        if target is None:
            target = self._targets[name] = len(self._labels)
            self._labels.append(name)
        return target

    def _known_target(self, name: Key) -> int | None:
        if type(name) is not int and type(name) is not str:  # True is no name, although it equals 1
            checked_name(name)
        target = self._targets.get(name)
        return self._targets.get(cast("Key", checked_name(name))) if target is None else target

    def _contains(self, item: TargetFilter) -> bool:
        """Return whether a filter is in a level, or in a memtable before the last."""
        for level in self._levels_of(self._state, item):
            if level.contains(item):
                return True
        memtables = self._state.memtables
        return len(memtables) > 1 and any(item in memtable for memtable in memtables[:-1])

    def _levels_of(self, state: _State, item: TargetFilter) -> Iterable[Level]:
        """Return the levels that may contain a filter."""
        levels = state.levels
        return levels if len(levels) == 1 or hash(item) in self._compiled_hashes else levels[:1]

    def _filters(self, target: int) -> Iterable[EncodedFilter]:
        for level in self._state.levels:
            yield from level.filters(target)
        for memtable in self._state.memtables:
            yield from (tests for owner, tests in memtable if owner == target)

    def _remove(self, state: _State, item: TargetFilter) -> bool:
        """Remove a filter from all levels and memtables; filters that only it covered are added first."""
        if self._log is not None:
            self._log.append(item)
        was_present = False
        for level in self._levels_of(state, item):
            removal = level.find(item)
            if removal is not None:
                for revived in removal.revived:
                    state.memtables[-1].add(revived)
                level.apply(removal)
                was_present = True
        for memtable in state.memtables:
            was_present |= memtable.discard(item)
        return was_present

    # --- merging, in a background thread

    def _start_merging(self) -> None:
        if self._merger is None and self._is_merge_due():
            self._merger = threading.Thread(target=self._merge, name="cbnet-merge")
            self._merger.start()

    def _is_merge_due(self) -> bool:
        return self._is_settled or self._state.memtables[-1].is_full() or self._state.levels[0].is_mostly_removed()

    def _merge(self) -> None:
        try:
            while (merge := self._begin_merge()) is not None:
                self._end_merge(merge, merge.level())
                self.merges += 1
        except BaseException as error:  # raised by `wait`; the table keeps working
            self._merge_error = error
        finally:
            with self._lock:
                self._log = None
                self._merger = None

    def _begin_merge(self) -> _Merge | None:
        """Choose the parts to merge: all memtables, and the levels that are not much larger than they are."""
        with self._lock:
            levels, memtables = self._state
            if not self._is_merge_due():
                return None
            self._state = _State(levels, (*memtables, MemTable()))
            log: list[TargetFilter] = []
            self._log = log
            items = [item for memtable in memtables for item in memtable]
            size, first = len(items), len(levels)
            room = self._quiet * MIN_MERGE if self._is_settled else 0
            while first > 1 and len(levels[first - 1]) <= max(GROWTH * size, room - size):
                first -= 1
                size += len(levels[first])
            self._is_settled = False
            if levels[0].is_mostly_removed() or size > max(MIN_MERGE, len(levels[0]) // BASE_SHARE):
                first = 0
            labels = range(len(self._labels)) if first else list(self._labels)
            copies = [level.copy() for level in levels[first:]]
            merge = _Merge(first, copies, len(memtables), items, labels, log, self.reduces and first == 0)
        for item in items:  # one by one, so that other threads need not wait for all of them
            self._compiled_hashes.add(hash(item))
        return merge

    def _end_merge(self, merge: _Merge, level: Level) -> None:
        """Replace the merged parts by the new level, and repeat on it the removals since the merge began."""
        log = merge.log
        revived: dict[TargetFilter, None] = {}
        done = 0
        while (behind := len(log) - done) > MAX_CATCH_UP:
            _catch_up(level, islice(log, done, done + behind), revived)  # no copy: the garbage collector would visit it
            done += behind
        with self._lock:
            _catch_up(level, log[done:], revived)
            levels, memtables = self._state
            for item in revived:
                memtables[-1].add(item)
            self._state = _State((*levels[: merge.first], level), memtables[merge.memtables :])
            self._log = None
            if merge.first == 0:
                self._compiled_hashes.clear()


class _Merge(NamedTuple):
    """The parts that become one level: the last levels of a state, and its first memtables."""

    first: int  # index of the first level; 0: the base too
    levels: list[Level]
    memtables: int
    items: list[TargetFilter]  # of the memtables
    labels: Sequence[Any]
    log: list[TargetFilter]  # removals since the merge began; grows
    reduces: bool

    def level(self) -> Level:
        parts = [level.alive() for level in self.levels]
        columns = merge_columns([*parts, columns_of_encoded(self.labels, self.items)], self.labels)
        level = Level(CompiledTable.build(columns, reduce=self.reduces, labelled=False))
        level.prepare()
        return level


def _catch_up(level: Level, log: Iterable[TargetFilter], revived: dict[TargetFilter, None]) -> None:
    """Repeat removals on a new level, and collect the filters that they revive.

    A filter that one removal revives may be removed by a later one.
    """
    for item in log:
        revived.pop(item, None)
        removal = level.find(item)
        if removal is not None:
            revived.update(dict.fromkeys(removal.revived))
            level.apply(removal)


def _match_compiled(
    levels: Sequence[Level], memtables: tuple[MemTable, ...], message: Any, labels: list[Any], credit: object
) -> tuple[list[Any] | None, Sequence[Any]]:
    """Return the rules of a message, and those that are undecided; None if the kernels cannot read it."""
    try:
        remainders = tuple([level.remainder for level in levels])
        return match_together(remainders, memtables, message, labels, credit), ()
    except UnicodeEncodeError:  # half of a surrogate pair
        return None, ()
    except UndecidedError as error:
        return [*error.rules], error.undecided
