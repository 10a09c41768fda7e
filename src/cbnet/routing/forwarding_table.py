"""Forwarding tables of a router: a reduced disjunction of predicates, or the holders of offers, for each neighbour.

An entry of a `HolderTable` has offers by distance, nearest first. An offer is dropped if one at the same or a smaller
distance covers it; one that only farther offers cover is kept, because it may be the nearest match:

    w    2: #news               at distance 2
         5: #sports             an offer of #news and #eu at the same distance is dropped
         9: true                matches everything, but far away: the two above are kept

`SharedTables` stores equal tables once: tree grouping [2014 §3.2.2]. `multitree.grouping` finds indistinguishable trees
for all routers of a network at once. Here a router compares its own tables by the receivers behind each neighbour, or
by the disjunction of the receivers that it knows only as a summary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.routing.interests import Interests, set_bits
from cbnet.routing.router_state import RouterState, total


class ForwardingTable:
    """A map of neighbours to the disjunction of the predicates of the receivers behind them."""

    __slots__ = ("_entries", "_interests", "receivers")

    def __init__(self, interests: Interests, receivers: Mapping[int, Iterable[int]]) -> None:
        self._interests = interests
        self.receivers = {neighbour: tuple(behind) for neighbour, behind in receivers.items()}
        self._entries = {
            neighbour: interests.disjunction(map(interests.of, behind)) for neighbour, behind in self.receivers.items()
        }

    def match(self, message: Message) -> list[int]:
        """Return the neighbours whose predicate the message matches."""
        matched = self._interests.matched(message)
        return [neighbour for neighbour, filters in self._entries.items() if filters & matched]

    def __getitem__(self, neighbour: int) -> Predicate:
        return self._interests.predicate(self._entries[neighbour])

    def __iter__(self) -> Iterator[int]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def state(self) -> RouterState:
        """Return the size of the table: a neighbour and its predicate in each entry."""
        interests = self._interests
        return RouterState(
            identifiers=len(self),
            words=sum(map(interests.words, self._entries.values())),
            unreduced_words=sum(interests.unreduced_words(x) for behind in self.receivers.values() for x in behind),
            unreduced_predicates=sum(map(len, self.receivers.values())),
        )


class HolderTable:
    """The offers behind each neighbour, by distance."""

    def __init__(self, interests: Interests, holders: Mapping[int, Sequence[tuple[int, int]]]) -> None:
        """Build the table; holders: for each neighbour, the holders behind it with their distances."""
        self._interests = interests
        self._holders = {neighbour: sorted(behind, key=lambda each: each[1]) for neighbour, behind in holders.items()}
        self._entries = {neighbour: self._levels(behind) for neighbour, behind in self._holders.items()}

    def match(self, request: Message) -> list[int]:
        """Return the neighbours with a matching offer behind them, by the distance of the nearest."""
        matched = self._interests.matched(request)
        by_distance = []
        for neighbour, levels in self._entries.items():
            nearest = next((distance for distance, offers in levels if offers & matched), None)
            if nearest is not None:
                by_distance.append((nearest, neighbour))
        return [neighbour for _, neighbour in sorted(by_distance)]

    def state(self) -> RouterState:
        """Return the size of the table: neighbours, distances, which count as identifiers, and offers."""
        levels = [level for levels in self._entries.values() for level in levels]
        holders = [x for behind in self._holders.values() for x, _ in behind]
        return RouterState(
            identifiers=len(self._entries) + len(levels),
            words=sum(self._interests.words(offers) for _, offers in levels),
            unreduced_words=sum(self._interests.unreduced_words(x) for x in holders),
            unreduced_predicates=len(holders),
        )

    def _levels(self, holders: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the distances, ascending, each with the offers that no nearer offer covers."""
        at: dict[int, list[int]] = {}
        for holder, distance in holders:
            at.setdefault(distance, []).append(self._interests.of(holder))
        levels, nearer = [], 0
        for distance, offers in at.items():
            new = self._uncovered(self._interests.disjunction(offers), nearer)
            nearer |= new
            if new:
                levels.append((distance, new))
        return levels

    def _uncovered(self, offers: int, nearer: int) -> int:
        """Return the offers that no nearer offer covers."""
        kept = 0
        for number in set_bits(offers & ~nearer):
            if self._interests.disjunction([nearer, 1 << number]) >> number & 1:
                kept |= 1 << number
        return kept


class SharedTables:
    """Tables by tree; equal tables are stored once."""

    def __init__(self, interests: Interests) -> None:
        self._interests = interests
        self._tables: dict[object, ForwardingTable] = {}
        self._distinct: dict[object, ForwardingTable] = {}

    def add(self, tree: object, behind: Mapping[int, tuple[tuple[int, ...], tuple[int, ...]]]) -> None:
        """Add the table of a tree; behind: for each neighbour, the individual and the summarised receivers."""
        sums = {w: self._interests.disjunction(map(self._interests.of, summed)) for w, (_, summed) in behind.items()}
        key = tuple((w, known, sums[w]) for w, (known, _) in behind.items())
        if key not in self._distinct:
            receivers = {w: known + summed for w, (known, summed) in behind.items()}
            self._distinct[key] = ForwardingTable(self._interests, receivers)
        self._tables[tree] = self._distinct[key]

    def __contains__(self, tree: object) -> bool:
        return tree in self._tables

    def __getitem__(self, tree: object) -> ForwardingTable:
        return self._tables[tree]

    def state(self) -> RouterState:
        """Return the size of the tables, and of the bits that select the table of each tree."""
        bits = len(self._tables) * (len(self._distinct) - 1).bit_length()
        return RouterState(flags=bits) + total(table.state() for table in self._distinct.values())
