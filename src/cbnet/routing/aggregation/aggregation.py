"""Filters of all sources known to a router, and the reduced union of some sources for each target [2003 §3].

    sources    own      x > 7, #a            north    x > 5, y = 1            south    x > 9
    targets    to south, of own and north:   x > 5, y = 1, #a
               to north, of own and south:   x > 7, #a

The result equals `reduce` on the union, whatever the order of changes; `dominance` documents when a covered filter
may be announced nevertheless. Every filter is stored once, and occurs in the match table once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from cbnet.matching import LiveTable
from cbnet.matching.storage.filter_encoding import tests_from_bytes
from cbnet.routing.aggregation.match_slots import MatchSlots, Slots
from cbnet.routing.aggregation.reduced_unions import ReducedUnions
from cbnet.routing.aggregation.source_filters import SourceFilters
from cbnet.routing.aggregation.union_rows import SCANNED
from cbnet.routing.aggregation.union_target import ALL

Target = TypeVar("Target", bound=Hashable)
SLICE = 1000  # filters announced, withdrawn or removed at a time: some 7 ms
_COMPARED = 1 << 16  # rows sampled to find a similar target


class Difference(NamedTuple):
    """Filters to add and to remove."""

    added: Sequence[bytes]
    removed: Sequence[bytes]


NO_DIFFERENCE: Final = Difference((), ())


class Aggregation:
    """The filters of sources, and the reduced union of some sources for each target."""

    def __init__(self, table: LiveTable[int], slots: Slots[Any], slice: int = SLICE) -> None:
        """Initialise with the table and its slots; slice: filters that `work` handles at a time."""
        self._slice = slice
        self._slots = MatchSlots(table, slots)
        self._store = SourceFilters(self._slots)
        self._unions = ReducedUnions(self._store, slice)

    # --- sources

    def add_source(
        self, source: Hashable, base: Hashable | None = None, *, is_matched: bool = True, is_reduced: bool = True
    ) -> None:
        """Add a source: empty, or with the kind and the content of `base`, at no cost per filter.

        is_matched: whether its filters are in the table; False for own clients, whose subscriptions are there one by
        one. is_reduced: whether its filters do not cover each other, as in a stream; never assumed of own clients.
        """
        self._store.add_source(source, base, is_matched=is_matched, is_reduced=is_reduced and is_matched)

    def remove_source(self, source: Hashable) -> None:
        """Remove a source that no open target uses; if it has very many filters, `work` completes the removal.

        Until they are removed, its filters still match, under a bit that no longer belongs to a known source.
        """
        bit = self._store.bit(source)
        if self._unions.carriers(bit):
            raise ValueError(f"the source {source!r} is in use: close its targets first")
        is_first = not self.has_work
        self._store.remove_source(source)
        if is_first:  # otherwise work is already queued, and this waits for its turn
            self.work()

    @property
    def has_work(self) -> bool:
        """Whether `work` has something to do."""
        return bool(self._store.leaving) or self._unions.has_work or self._unions.is_untidy

    def work(self) -> None:
        """Do a slice of long work: open targets, announce and withdraw filters, remove sources, close targets."""
        if self._unions.has_work:
            self._unions.work()
        elif self._store.leaving:
            for row in self._store.remove_some(self._slice):
                self._unions.rows.release(row)
        elif self._unions.is_untidy:
            self._unions.tidy()

    def change(self, source: Hashable, added: Iterable[bytes], removed: Iterable[bytes]) -> None:
        """Add and remove filters of a source; a filter in both lists stays.

        Adding a present filter or removing an absent one has no effect. For a source that is matched, an invalid filter
        raises an `InputError` and nothing changes; subscriptions of own clients are always valid.
        """
        store, unions, bit = self._store, self._unions, self._store.bit(source)
        rows = {filter: store.find(filter) for filter in added}
        new = [filter for filter, row in rows.items() if row is None]
        tests = [tests_from_bytes(filter) for filter in new] if store.is_matched(bit) else []
        lost = [row for row in self._rows(filter for filter in removed if filter not in rows) if store.has(row, bit)]
        if rows and not store.non_empty & bit:
            unions.prepare(store.non_empty | bit)
        freed, gained = {}, {}
        for row in lost:
            if targets := unions.lose(row, bit):
                freed[row] = targets
        for known in rows.values():
            if known is not None and not store.has(known, bit) and (targets := unions.gain(known, bit)):
                gained[known] = targets
        if new:
            gained |= unions.gain_new(new, tests, bit)
        unions.rows.settle(gained, freed)
        for row in lost:
            unions.rows.release(row)
        if lost and not store.non_empty & bit:
            unions.prepare(store.non_empty)

    def load(self, contents: Mapping[Hashable, Iterable[bytes]]) -> None:
        """Fill empty sources before any target is open; a filter of several sources is stored once, for all of them."""
        sources: dict[bytes, int] = {}
        for source, filters in contents.items():
            bit = self._store.bit(source)
            for filter in filters:
                sources[filter] = sources.get(filter, 0) | bit
        self._store.fill(sources)

    def _rows(self, filters: Iterable[bytes]) -> dict[int, None]:
        """Return the rows of the filters that have one; check that the others are valid."""
        rows: dict[int, None] = {}
        for filter in filters:
            row = self._store.find(filter)
            if row is not None:
                rows[row] = None
            else:
                tests_from_bytes(filter)
        return rows

    def filters(self, source: Hashable) -> set[bytes]:
        """Return the filters of a source."""
        return {self._store.filters[row] for row in self._store.rows_of(source)}

    def count(self, source: Hashable) -> int:
        """Return the number of filters of a source."""
        return self._store.count(source)

    def total(self, sources: Iterable[Hashable]) -> tuple[int, int]:
        """Return the number of distinct filters of the sources, and their total size in bytes."""
        return self._store.total(sum(map(self._store.bit, sources)))

    def __len__(self) -> int:
        return len(self._store)

    def bit(self, source: Hashable) -> int:
        """Return the bit of a source in the result of `matched`."""
        return self._store.bit(source)

    def sources(self, slot: int) -> int:
        """Return the bits of the sources that have the filters in a slot of the table."""
        return self._slots.sources(slot)

    def matched(self, slots: Iterable[int]) -> int:
        """Return the bits of the sources that have a filter in any of these slots of the table."""
        return self._slots.matched(slots)

    # --- targets

    def open(self, target: Hashable, sources: Collection[Hashable]) -> None:
        """Open a target, whose content is the reduced union of the sources; if they are large, `work` completes it."""
        if target in self._unions.targets:
            raise ValueError(f"the target {target!r} is open already")
        self._unions.open(target, sum(map(self._store.bit, set(sources))))

    def is_ready(self, target: Hashable) -> bool:
        """Return whether the content of a target is complete; from then on its changes are recorded."""
        return self._unions.is_ready(target)

    def close(self, target: Hashable) -> None:
        """Close a target; if there are very many filters, `work` completes the clean-up."""
        is_first = not self.has_work
        self._unions.close(target)
        if is_first:  # otherwise work is already queued, and this waits for its turn
            self.work()

    def content(self, target: Hashable) -> set[bytes]:
        """Return the filters announced to a target."""
        return {self._store.filters[row] for row in self._unions.announced_rows(self._bit_of(target))}

    def size(self, target: Hashable) -> int:
        """Return the number of filters announced to a target."""
        return self._unions.targets[target].size

    def covered(self, target: Hashable) -> int:
        """Return the number of filters of a target's sources that are not announced to it."""
        return max(0, self._unions.carried(self._bit_of(target)) - self.size(target))

    def nearest(self, target: Target, others: Collection[Target]) -> Target | None:
        """Return the other target with the most similar content; None if none is more similar than the empty set.

        If there are very many filters, a sample of them is compared.
        """
        announced = self._store.announced
        masks = Counter(announced[:: 1 + len(announced) // _COMPARED] if others else ())
        best: Target | None = None
        least = _differing(masks, self._bit_of(target), 0)
        for other in others:
            differing = _differing(masks, self._bit_of(target), self._bit_of(other))
            if differing < least and other != target:
                best, least = other, differing
        return best

    def distance(self, target: Hashable, other: Hashable | None) -> int:
        """Return the number of filters that only one of two targets has; None stands for an empty target."""
        if other is None:
            return self.size(target)
        return _differing(Counter(self._store.announced), self._bit_of(target), self._bit_of(other))

    def begin(self, target: Hashable, base: Hashable | None) -> None:
        """Start to announce a target's content to a neighbour that has nothing, or the current content of `base`."""
        if base is not None and (self.has_pending(base) or self.is_sending(base)):
            raise ValueError(f"the neighbour does not have all of {base!r}: take its changes first")
        former = self._store.announced.copy() if base is not None else []
        self._unions.targets[target].begin(0 if base is None else self._bit_of(base), former)

    def is_sending(self, target: Hashable) -> bool:
        """Return whether `send_some` has yet to return some of a target's content."""
        return self._unions.targets[target].cursor < ALL

    def send_some(self, target: Hashable) -> Difference:
        """Return the next part of the difference between a target's content and what the neighbour has."""
        sent, announced, filters = self._unions.targets[target], self._store.announced, self._store.filters
        added: list[bytes] = []
        removed = list(sent.take_gone())
        row, end = sent.cursor, min(sent.cursor + SCANNED * self._slice, len(announced))
        while row < end and len(added) + len(removed) < self._slice:
            is_new, had = bool(announced[row] & sent.bit), sent.had(row)
            if is_new != had and sent.pending.pop(filters[row], None) is None:
                (added if is_new else removed).append(filters[row])  # else it came back in a row above the cursor
            row += 1
        sent.cursor = row
        if row >= len(announced):
            sent.complete()
        return Difference(added, removed)

    def take(self, target: Hashable) -> Difference:
        """Return the net change of a target's content since it was opened, or since the last call."""
        taken = self._unions.targets[target]
        pending, taken.pending = taken.pending, {}
        added = [filter for filter, is_announced in pending.items() if is_announced]
        return Difference(added, [filter for filter, is_announced in pending.items() if not is_announced])

    def has_pending(self, target: Hashable) -> bool:
        """Return whether `take` would return a change."""
        return bool(self._unions.targets[target].pending)

    def announced(self, target: Hashable, filter: bytes) -> bytes | None:
        """Return the filter of a target's content that equals or covers a filter; None if there is none."""
        return self._unions.announced(self._bit_of(target), filter)

    def _bit_of(self, target: Hashable) -> int:
        return self._unions.targets[target].bit


def _differing(masks: Mapping[int, int], bit: int, other: int) -> int:
    """Return the number of rows that have exactly one of two bits; masks: the number of rows by their bits."""
    return sum(count for mask, count in masks.items() if (not mask & bit) != (not mask & other))
