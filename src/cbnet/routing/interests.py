"""Interests of all receivers, with every filter stored once.

The predicates in the tables of a network are disjunctions of the same receivers' filters, many times over: PSF has a
table for each router and source. So the filters are numbered, and a disjunction is a set of them, the bits of one int:

    filters     0: x > 2     1: x > 3     2: y = 1        distinct, each without redundant constraints
    receivers   a: 0b001     b: 0b110
    a ∨ b       0b101                                     1 is covered by 0, and dropped

Of filters that cover each other, the first in the canonical order is kept (`aggregation.dominance`), so the filters
of a disjunction are those that a live router announces. In a live router, `aggregation` keeps a few disjunctions up to
date while filters change; here nothing changes, and very many disjunctions are needed. A property test,
tests/property/test_aggregation.py, checks that both are equal.

A message is matched once, by one compiled table over all filters; a disjunction matches if it shares a bit with the
result. Compiling a table for each disjunction would take 2.5 ms or more; a disjunction here takes some 10 µs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, reduce
from operator import or_

from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.relations.reduction import reduce as reduced
from cbnet.language.syntax.byte_form import canonical_filter, filter_to_bytes
from cbnet.matching import Table
from cbnet.routing.aggregation.dominance import DominanceIndex

_MAX_CACHED = 1 << 16  # reduced disjunctions, some 100 bytes each


class Interests:
    """The filters of all receivers, and disjunctions of them as sets of bits."""

    def __init__(self, predicates: Mapping[int, Predicate]) -> None:
        numbers: dict[Filter, int] = {}
        self._of: dict[int, int] = {}
        self._unreduced_words: dict[int, int] = {}
        for receiver, predicate in predicates.items():
            canonical = Predicate(sorted(map(canonical_filter, predicate.filters), key=filter_to_bytes))
            own = [numbers.setdefault(filter, len(numbers)) for filter in reduced(canonical).filters]
            self._of[receiver] = _bits(own)
            self._unreduced_words[receiver] = sum(map(filter_words, predicate.filters))
        self.filters: Sequence[Filter] = tuple(numbers)
        self._words = [filter_words(filter) for filter in self.filters]
        self._without_covered = lru_cache(_MAX_CACHED)(self._find_uncovered)  # routers often need the same disjunction
        self._last: tuple[Message | None, int] = (None, 0)

    def of(self, receiver: int) -> int:
        """Return the filters of one receiver's predicate, reduced."""
        return self._of[receiver]

    def unreduced_words(self, receiver: int) -> int:
        """Return the words of a receiver's unreduced predicate."""
        return self._unreduced_words[receiver]

    def disjunction(self, predicates: Iterable[int]) -> int:
        """Return the disjunction of predicates without the filters that others in it cover.

        Covering is transitive, so a filter may be dropped even if the one that covers it is dropped, too.
        """
        return self._without_covered(reduce(or_, predicates, 0))

    def matched(self, message: Message) -> int:
        """Return the filters that a message matches. The last result is cached for the next router."""
        last, bits = self._last
        if message is not last:
            bits = _bits(self._table.match(message))
            self._last = message, bits
        return bits

    def interested(self, message: Message) -> set[int]:
        """Return the receivers whose predicate a message matches."""
        return {receiver for number in set_bits(self.matched(message)) for receiver in self._receivers[number]}

    def predicate(self, bits: int) -> Predicate:
        """Return a set of filters as a predicate."""
        return Predicate(self.filters[number] for number in set_bits(bits))

    def words(self, bits: int) -> int:
        """Return the number of words of a predicate; see `filter_words`."""
        return sum(self._words[number] for number in set_bits(bits))

    def _find_uncovered(self, union: int) -> int:
        dropped = 0
        for number in set_bits(union & self._coverable):
            if self._coverers[number] & union:
                dropped |= 1 << number
        return union & ~dropped

    @cached_property
    def _table(self) -> Table[int]:
        return Table.build({number: Predicate([filter]) for number, filter in enumerate(self.filters)}, reduce=False)

    @cached_property
    def _receivers(self) -> list[list[int]]:
        """The receivers of each filter."""
        receivers: list[list[int]] = [[] for _ in self.filters]
        for receiver, bits in self._of.items():
            for number in set_bits(bits):
                receivers[number].append(receiver)
        return receivers

    @cached_property
    def _coverers(self) -> dict[int, int]:
        """The filters that make each filter redundant, if any."""
        index = DominanceIndex(list(map(filter_to_bytes, self.filters)))
        rows = range(len(self.filters))
        for row in rows:
            index.add(row)
        return {row: coverers for row in rows if (coverers := _bits(index.dominators(row)))}

    @cached_property
    def _coverable(self) -> int:
        return _bits(self._coverers)


def filter_words(filter: Filter) -> int:
    """Return the 64-bit words of a filter: one for each constraint, tag or condition, as in a compiled table.

    The filter `true`, which has none, takes one word.
    """
    return max(1, len(filter.constraints) + len(filter.tags) + len(filter.conditions))


def set_bits(bits: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _bits(numbers: Iterable[int]) -> int:
    return reduce(or_, (1 << number for number in numbers), 0)
