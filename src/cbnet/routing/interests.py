"""Interests: what do all receivers want, with every filter said once?

The predicates in the tables of a network are disjunctions of the same receivers' filters, over and
over: PSF alone has a table for each router and source. So the filters are numbered, and a disjunction is
a set of them, the bits of one int:

    filters     0: x > 2     1: x > 3     2: y = 1        distinct, each without redundant constraints
    receivers   a: 0b001     b: 0b110
    a ∨ b       0b101                                     1 is covered by 0, and dropped

A message is matched once, by one compiled table over all filters; a disjunction matches if it shares a bit
with the answer. To compile a table for each disjunction instead takes 2.5 ms or more, a disjunction here
some 10 µs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, reduce
from operator import or_

from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.relations.covering import Analysis
from cbnet.language.relations.range_index import Candidates
from cbnet.language.relations.reduction import reduce as reduced
from cbnet.matching import Table

_KEPT = 1 << 16  # disjunctions that were reduced, some 100 bytes each


class Interests:
    """The filters of all receivers, and disjunctions of them as sets of bits."""

    def __init__(self, predicates: Mapping[int, Predicate]) -> None:
        places: dict[Filter, int] = {}
        self._of: dict[int, int] = {}
        self._given: dict[int, int] = {}
        for receiver, predicate in predicates.items():
            own = [places.setdefault(filter, len(places)) for filter in reduced(predicate).filters]
            self._of[receiver] = _bits(own)
            self._given[receiver] = sum(map(filter_words, predicate.filters))
        self.filters: Sequence[Filter] = tuple(places)
        self._words = [filter_words(filter) for filter in self.filters]
        self._without_covered = lru_cache(_KEPT)(self._find_uncovered)  # routers often want the same disjunction
        self._last: tuple[Message | None, int] = (None, 0)

    def of(self, receiver: int) -> int:
        """Return the filters of one receiver's predicate, reduced."""
        return self._of[receiver]

    def unreduced_words(self, receiver: int) -> int:
        """Return the words of a receiver's predicate as it was given."""
        return self._given[receiver]

    def disjunction(self, predicates: Iterable[int]) -> int:
        """Return the disjunction of predicates without the filters that others of it cover.

        Covering is transitive, so it does not matter whether what covers a filter is itself dropped.
        """
        return self._without_covered(reduce(or_, predicates, 0))

    def matched(self, message: Message) -> int:
        """Return the filters that a message matches. The last answer is kept: the next router asks the same."""
        last, bits = self._last
        if message is not last:
            bits = _bits(self._table.match(message))
            self._last = message, bits
        return bits

    def interested(self, message: Message) -> set[int]:
        """Return the receivers whose predicate a message matches."""
        return {receiver for place in set_bits(self.matched(message)) for receiver in self._receivers[place]}

    def predicate(self, bits: int) -> Predicate:
        """Return the predicate that a set of filters is."""
        return Predicate(self.filters[place] for place in set_bits(bits))

    def words(self, bits: int) -> int:
        """Return the number of words of a predicate; see `filter_words`."""
        return sum(self._words[place] for place in set_bits(bits))

    def _find_uncovered(self, union: int) -> int:
        dropped = 0
        for place in set_bits(union & self._coverable):
            if self._coverers[place] & union:
                dropped |= 1 << place
        return union & ~dropped

    @cached_property
    def _table(self) -> Table[int]:
        return Table.build({place: Predicate([filter]) for place, filter in enumerate(self.filters)}, reduce=False)

    @cached_property
    def _receivers(self) -> list[list[int]]:
        """The receivers of each filter."""
        receivers: list[list[int]] = [[] for _ in self.filters]
        for receiver, bits in self._of.items():
            for place in set_bits(bits):
                receivers[place].append(receiver)
        return receivers

    @cached_property
    def _coverers(self) -> dict[int, int]:
        """The filters that make another one redundant; of filters that cover each other, the smallest does."""
        pairs = set(_coverings(self.filters))
        coverers: dict[int, int] = defaultdict(int)
        for wide, narrow in pairs:
            first = (self._words[wide], wide) < (self._words[narrow], narrow)
            if first or (narrow, wide) not in pairs:
                coverers[narrow] |= 1 << wide
        return coverers

    @cached_property
    def _coverable(self) -> int:
        return _bits(self._coverers)


def filter_words(filter: Filter) -> int:
    """Return how many 64-bit words hold a filter: one for each constraint or tag, as in a compiled table.

    The filter `true`, which has none, takes one as well.
    """
    return max(1, len(filter.constraints) + len(filter.tags))


def set_bits(bits: int) -> Iterator[int]:
    """Yield the places of the bits that are set."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _bits(places: Iterable[int]) -> int:
    return reduce(or_, (1 << place for place in places), 0)


def _coverings(filters: Sequence[Filter]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of distinct filters of which the first covers the second."""
    analyses = [Analysis(filter) for filter in filters]
    candidates = Candidates([analysis.ranges for analysis in analyses])
    bearing = _bearing(filters)
    for wide, filter in enumerate(filters):
        needed = [bearing[symbol] for symbol in _symbols(filter)]
        fewest: Sequence[int] = min(needed, key=len, default=range(len(filters)))
        for narrow in candidates.of(analyses[wide].ranges, lambda fewest=fewest: fewest):  # type: ignore[misc]
            if narrow != wide and analyses[narrow].implies(filter):
                yield wide, narrow


def _bearing(filters: Sequence[Filter]) -> dict[tuple[str, bool], list[int]]:
    """Return for each name and each tag the filters that bear on it: only they can be covered by one that does."""
    bearing: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for place, filter in enumerate(filters):
        for symbol in _symbols(filter):
            bearing[symbol].append(place)
    return bearing


def _symbols(filter: Filter) -> set[tuple[str, bool]]:
    return {(constraint.name, False) for constraint in filter.constraints} | {(tag, True) for tag in filter.tags}
