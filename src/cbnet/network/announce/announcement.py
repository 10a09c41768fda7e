"""Announcement: which filters of this node must the others know? Those that no other filter of it covers [2003 §3].

    subscriptions    x > 2    x > 3 and #a    y = 1    x > 2
    announced        x > 2                    y = 1
    covered          └─ x > 3 and #a

A filter that comes and is covered changes nothing for the others. One that goes, and covered some, is replaced by
those of them that nothing else covers: at every moment what is announced matches what the subscriptions match. (Where
very many filters overlap and few cover another, a filter may be announced that another one covers: the search is given
up, so that nobody can make it long.)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

from cbnet.language.constraint import Op
from cbnet.language.filter import Filter
from cbnet.language.relations.covering import FilterAnalysis, satisfiable
from cbnet.language.relations.reduction import reduce
from cbnet.language.values import sort_key
from cbnet.network.announce.slots import Slots, live_table
from cbnet.network.protocol.filter_codec import canonical_filter

Symbol: TypeAlias = Hashable
_MOST_IN_VAIN = 64  # filters that a new one is set against, and neither covers the other: 0.3 ms


@dataclass
class Difference:
    """Filters that are announced now and were not, and the other way round."""

    added: dict[Filter, None] = field(default_factory=dict)
    removed: dict[Filter, None] = field(default_factory=dict)

    def add(self, filter: Filter) -> None:
        """Note that a filter is announced."""
        if filter in self.removed:
            del self.removed[filter]
        else:
            self.added[filter] = None

    def remove(self, filter: Filter) -> None:
        """Note that a filter is no longer announced."""
        if filter in self.added:
            del self.added[filter]
        else:
            self.removed[filter] = None

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


class Announcement:
    """The filters of the subscriptions at one node, and which of them are announced."""

    def __init__(self, *, is_limited: bool = True) -> None:
        """Take whether covered filters are left out; if not, all are announced."""
        self.pending = Difference()  # since it was last taken
        self._is_limited = is_limited
        self._said: Counter[Filter] = Counter()
        self._covered: dict[Filter, dict[Filter, None]] = {}  # by the announced filter that covers them
        self._coverer: dict[Filter, Filter] = {}
        self._index = _Index()

    def __iter__(self) -> Iterator[Filter]:
        return iter(self._covered)

    def __len__(self) -> int:
        return len(self._covered)

    @property
    def distinct(self) -> int:
        """How many different filters there are, announced or not."""
        return len(self._said)

    def take(self) -> Difference:
        """Return what changed since this was last asked for."""
        taken, self.pending = self.pending, Difference()
        return taken

    def others_have(self, filters: Iterable[Filter]) -> None:
        """Take it that the others know these filters, and no others: what is pending is the difference to them."""
        known = dict.fromkeys(filters)
        added = dict.fromkeys(filter for filter in self._covered if filter not in known)
        self.pending = Difference(added, dict.fromkeys(filter for filter in known if filter not in self._covered))

    def add(self, filter: Filter) -> None:
        """Add a filter of a subscription; others may have said the same one."""
        own = _needed(filter)
        if own is not None:
            self._said[own] += 1
            if self._said[own] == 1:
                self._place(own)

    def remove(self, *filters: Filter) -> None:
        """Remove filters that were added: all at once, so that none finds a new place before it goes too."""
        gone: dict[Filter, None] = {}
        for filter in filters:
            own = _needed(filter)
            if own is not None:
                self._said[own] -= 1
                if not self._said[own]:
                    del self._said[own]
                    gone[own] = None
        self._displace(gone)

    def _place(self, filter: Filter) -> None:
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

    def _displace(self, gone: Mapping[Filter, None]) -> None:
        """Forget filters; those that they covered find another place."""
        left: dict[Filter, None] = {}
        for filter in gone:
            coverer = self._coverer.pop(filter, None)
            if coverer is None:
                left.update(self._withdraw(filter))
            elif coverer in self._covered:
                del self._covered[coverer][filter]
        for filter in left.keys() - gone.keys():
            del self._coverer[filter]
        for filter in left:
            if filter not in gone:
                self._place(filter)

    def _withdraw(self, filter: Filter) -> dict[Filter, None]:
        """No longer announce a filter; return those that it covered."""
        self._index.remove(filter)
        self.pending.remove(filter)
        return self._covered.pop(filter)

    def _file(self, filter: Filter, coverer: Filter) -> None:
        self._covered[coverer][filter] = None
        self._coverer[filter] = coverer


class _Index:
    """The announced filters, arranged so that few are asked whether they cover another, or are covered by it.

    What covers a filter accepts all that the filter accepts, so two messages that match it: a table finds who matches
    both. What a filter covers bears all its symbols: tags, names, and names with the one value that `=` asks for.
    """

    def __init__(self) -> None:
        self._analyses: dict[Filter, FilterAnalysis] = {}
        self._bearing: dict[Symbol, dict[Filter, None]] = defaultdict(dict)
        self._table = live_table()
        self._slots: Slots[Filter] = Slots()

    def add(self, analysis: FilterAnalysis) -> None:
        filter = analysis.filter
        self._analyses[filter] = analysis
        self._table.add(self._slots.take(filter), filter)
        for symbol in _symbols(analysis):
            self._bearing[symbol][filter] = None

    def remove(self, filter: Filter) -> None:
        self._table.remove(self._slots.give_back(filter), filter)
        for symbol in _symbols(self._analyses.pop(filter)):
            del self._bearing[symbol][filter]
            if not self._bearing[symbol]:
                del self._bearing[symbol]

    def covering(self, analysis: FilterAnalysis) -> Filter | None:
        """Return a filter that covers another one; unless too many are asked in vain."""
        firsts, lasts = _witnesses(analysis)
        also = set(self._table.match(lasts))
        matching = (self._slots.holder(slot) for slot in self._table.match(firsts) if slot in also)
        return next((wide for wide in islice(matching, _MOST_IN_VAIN) if analysis.implies(wide)), None)

    def covered_by(self, analysis: FilterAnalysis) -> Iterator[Filter]:
        """Yield filters that another one covers; all, unless too many are asked in vain."""
        asked = (self._bearing.get(symbol, {}) for symbol in _demands(analysis.filter))
        in_vain = 0
        for narrow in list(min(asked, key=len, default=self._analyses)):
            if self._analyses[narrow].implies(analysis.filter):
                yield narrow
            else:
                in_vain += 1
                if in_vain == _MOST_IN_VAIN:
                    return


def _needed(filter: Filter) -> Filter | None:
    """Return the filter without what it can do without, the same for equal filters; None if no message matches it."""
    plain = canonical_filter(filter)
    if len({constraint.name for constraint in plain.constraints}) == len(plain.constraints):
        return plain if satisfiable(plain) else None
    return next(iter(reduce(Filter(sorted(plain.constraints), plain.tags))), None)


def _symbols(analysis: FilterAnalysis) -> Iterator[Symbol]:
    """Yield the symbols of a filter: all demands of what covers it are among them."""
    for name, attribute in analysis.ranges.items():
        yield ("name", name)
        if attribute.typed is not None and attribute.typed.first is not None:
            yield ("value", name, sort_key(attribute.typed.first))
    for tag in sorted(analysis.filter.tags):
        yield ("tag", tag)


def _demands(filter: Filter) -> Iterator[Symbol]:
    """Yield the symbols that a filter which is covered by this one bears too."""
    for constraint in filter.constraints:
        if constraint.op is Op.EQ and constraint.value is not None:
            yield ("value", constraint.name, sort_key(constraint.value))
        else:
            yield ("name", constraint.name)
    for tag in sorted(filter.tags):
        yield ("tag", tag)


def _witnesses(analysis: FilterAnalysis) -> tuple[dict[str, object], dict[str, object]]:
    """Return two messages that match a filter, far from each other if that is easy."""
    tags = {"#": sorted(analysis.filter.tags)} if analysis.filter.tags else {}
    ranges = [(name, attribute.typed) for name, attribute in analysis.ranges.items()]
    firsts = {name: True if typed is None else typed.first for name, typed in ranges}  # None: any value will do
    lasts = {name: "" if typed is None else typed.last for name, typed in ranges}
    return {**firsts, **tags}, {**lasts, **tags}
