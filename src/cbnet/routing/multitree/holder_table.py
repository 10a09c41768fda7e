"""A table of the holders behind each neighbour, nearest first.

An entry holds offers by distance. An offer is dropped if one at the same or a smaller distance covers it; one that only
farther offers cover is kept, because it may be the nearest match:

    w    2: #news               at distance 2
         5: #sports             an offer of #news and #eu at the same distance is dropped
         9: true                matches everything, but far away: the two above are kept
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cbnet.language.message import Message
from cbnet.routing.interests import Interests, set_bits
from cbnet.routing.router_state import RouterState


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
