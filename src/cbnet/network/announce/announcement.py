"""Filters that a node announces: those that no other filter of it covers [2003 §3].

    subscriptions    x > 2    x > 3 and #a    y = 1    x > 2
    announced        x > 2                    y = 1
    covered          └─ x > 3 and #a

Adding a covered filter changes nothing. Removing a filter announces those that only it covered: at every moment the
announced filters match what the subscriptions match. (Where very many filters overlap and few cover another, a covered
filter may be announced: the search is bounded, so that no client can make it long.)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

from cbnet.language.constraint import Op
from cbnet.language.filter import Filter
from cbnet.language.relations.covering import FilterAnalysis, outcome_constraint, satisfiable
from cbnet.language.relations.reduction import reduce
from cbnet.language.values import sort_key
from cbnet.matching import LiveTable
from cbnet.network.announce.slots import Slots
from cbnet.network.announce.timed_table import empty_table
from cbnet.network.protocol.filter_codec import canonical_filter

Symbol: TypeAlias = Hashable
_MAX_FAILED_COMPARISONS = 64  # of a new filter with others that neither cover it nor are covered: 0.3 ms


@dataclass
class Difference:
    """Filters added to and removed from an announcement."""

    added: dict[Filter, None] = field(default_factory=dict)
    removed: dict[Filter, None] = field(default_factory=dict)

    def add(self, filter: Filter) -> None:
        """Record that a filter is announced."""
        if filter in self.removed:
            del self.removed[filter]
        else:
            self.added[filter] = None

    def remove(self, filter: Filter) -> None:
        """Record that a filter is no longer announced."""
        if filter in self.added:
            del self.added[filter]
        else:
            self.removed[filter] = None

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


class Announcement:
    """The filters of the subscriptions at one node, and which of them are announced."""

    def __init__(self, *, is_limited: bool = True) -> None:
        """Announce all filters if not `is_limited`; else only those that no other covers."""
        self.pending = Difference()  # since the last `take`
        self._is_limited = is_limited
        self._counts: Counter[Filter] = Counter()
        self._covered: dict[Filter, dict[Filter, None]] = {}  # by the announced filter that covers them
        self._coverer: dict[Filter, Filter] = {}
        self._index = _Index()

    def __iter__(self) -> Iterator[Filter]:
        return iter(self._covered)

    def __len__(self) -> int:
        return len(self._covered)

    @property
    def distinct(self) -> int:
        """The number of different filters, announced or not."""
        return len(self._counts)

    def take(self) -> Difference:
        """Return the difference since the last call."""
        taken, self.pending = self.pending, Difference()
        return taken

    def reset(self, filters: Iterable[Filter]) -> None:
        """Set the filters that other routers know: the pending difference is relative to them."""
        known = dict.fromkeys(filters)
        added = dict.fromkeys(filter for filter in self._covered if filter not in known)
        self.pending = Difference(added, dict.fromkeys(filter for filter in known if filter not in self._covered))

    def add(self, filter: Filter) -> None:
        """Add a filter of a subscription; several may have the same one."""
        normal = _normalise(filter)
        if normal is not None:
            self._counts[normal] += 1
            if self._counts[normal] == 1:
                self._insert(normal)

    def remove(self, *filters: Filter) -> None:
        """Remove filters at once, so that none is announced just before it is removed too."""
        removed: dict[Filter, None] = {}
        for filter in filters:
            normal = _normalise(filter)
            if normal is not None:
                self._counts[normal] -= 1
                if not self._counts[normal]:
                    del self._counts[normal]
                    removed[normal] = None
        self._delete(removed)

    def _insert(self, filter: Filter) -> None:
        """File a filter under one that covers it, or announce it."""
        analysis = FilterAnalysis(filter)
        coverer = self._index.covering(analysis) if self._is_limited else None
        if coverer is not None:
            self._file(filter, coverer)
            return
        narrow = list(self._index.covered_by(analysis)) if self._is_limited else []
        self._covered[filter] = {}
        self._index.add(analysis)
        self.pending.add(filter)
        for other in narrow:
            for below in (*self._withdraw(other), other):
                self._file(below, filter)

    def _delete(self, removed: Mapping[Filter, None]) -> None:
        """Delete filters, and insert again those that they covered."""
        uncovered: dict[Filter, None] = {}
        for filter in removed:
            coverer = self._coverer.pop(filter, None)
            if coverer is None:
                uncovered.update(self._withdraw(filter))
            elif coverer in self._covered:
                del self._covered[coverer][filter]
        for filter in uncovered.keys() - removed.keys():
            del self._coverer[filter]
        for filter in uncovered:
            if filter not in removed:
                self._insert(filter)

    def _withdraw(self, filter: Filter) -> dict[Filter, None]:
        """Stop announcing a filter; return those that it covered."""
        self._index.remove(filter)
        self.pending.remove(filter)
        return self._covered.pop(filter)

    def _file(self, filter: Filter, coverer: Filter) -> None:
        self._covered[coverer][filter] = None
        self._coverer[filter] = coverer


class _Index:
    """The announced filters, indexed so that few are tested for covering.

    A filter that covers another matches every message that the other matches: candidates are those that match two
    such messages, found by a table, which holds them without their conditions. A filter that is covered by another has
    all the other's symbols: tags, names, names with the value that `=` requires, and the tests of its conditions.
    """

    def __init__(self) -> None:
        self._analyses: dict[Filter, FilterAnalysis] = {}
        self._by_symbol: dict[Symbol, dict[Filter, None]] = defaultdict(dict)
        self._table = LiveTable(empty_table())
        self._slots: Slots[Filter] = Slots()

    def add(self, analysis: FilterAnalysis) -> None:
        filter = analysis.filter
        self._analyses[filter] = analysis
        self._table.add(self._slots.take(filter), _without_conditions(filter))
        for symbol in _symbols(analysis):
            self._by_symbol[symbol][filter] = None

    def remove(self, filter: Filter) -> None:
        self._table.remove(self._slots.release(filter), _without_conditions(filter))
        for symbol in set(_symbols(self._analyses.pop(filter))):  # two conditions may share a test
            del self._by_symbol[symbol][filter]
            if not self._by_symbol[symbol]:
                del self._by_symbol[symbol]

    def covering(self, analysis: FilterAnalysis) -> Filter | None:
        """Return a filter that covers another one, unless too many comparisons fail."""
        firsts, lasts = _witnesses(analysis)
        also = set(self._table.match(lasts))
        matching = (self._slots.holder(slot) for slot in self._table.match(firsts) if slot in also)
        return next((wide for wide in islice(matching, _MAX_FAILED_COMPARISONS) if analysis.implies(wide)), None)

    def covered_by(self, analysis: FilterAnalysis) -> Iterator[Filter]:
        """Yield the filters that another one covers; not all if too many comparisons fail."""
        candidates = (self._by_symbol.get(symbol, {}) for symbol in _required_symbols(analysis.filter))
        failed = 0
        for narrow in list(min(candidates, key=len, default=self._analyses)):
            if self._analyses[narrow].implies(analysis.filter):
                yield narrow
            else:
                failed += 1
                if failed == _MAX_FAILED_COMPARISONS:
                    return


def _normalise(filter: Filter) -> Filter | None:
    """Return the filter without redundant constraints, one form for equal filters; None if no message matches it."""
    canonical = canonical_filter(filter)
    if len({constraint.name for constraint in canonical.constraints}) == len(canonical.constraints):
        return canonical if satisfiable(canonical) else None
    ordered = Filter(sorted(canonical.constraints), canonical.tags, sorted(canonical.conditions))
    return next(iter(reduce(ordered)), None)


def _without_conditions(filter: Filter) -> Filter:
    return Filter(filter.constraints, filter.tags) if filter.conditions else filter


def _symbols(analysis: FilterAnalysis) -> Iterator[Symbol]:
    """Yield the symbols of a filter, a superset of the required symbols of any filter that covers it."""
    for name, attribute in analysis.ranges.items():
        yield ("name", name)
        yield ("value", name, sort_key(attribute.first))
    for condition in analysis.filter.conditions:
        yield ("test", outcome_constraint(condition).name)
    for tag in sorted(analysis.filter.tags):
        yield ("tag", tag)


def _required_symbols(filter: Filter) -> Iterator[Symbol]:
    """Yield the symbols that every filter covered by this one has."""
    for constraint in filter.constraints:
        if constraint.op is Op.EQ:
            yield ("value", constraint.name, sort_key(constraint.members[0]))
        else:
            yield ("name", constraint.name)
    for condition in filter.conditions:
        yield ("test", outcome_constraint(condition).name)
    for tag in sorted(filter.tags):
        yield ("tag", tag)


def _witnesses(analysis: FilterAnalysis) -> tuple[dict[str, object], dict[str, object]]:
    """Return two messages that satisfy the constraints of a filter, with values far apart where that is easy."""
    tags = {"#": sorted(analysis.filter.tags)} if analysis.filter.tags else {}
    firsts = {name: attribute.first for name, attribute in analysis.ranges.items()}
    lasts = {name: attribute.last for name, attribute in analysis.ranges.items()}
    return {**firsts, **tags}, {**lasts, **tags}
