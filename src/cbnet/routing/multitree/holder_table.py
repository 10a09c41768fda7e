"""Nearest table: which neighbours lead to a holder of what is asked for, the nearest first?

An entry holds offers by their distance. An offer is left out if one that is no farther away covers it; one that
only farther ones cover stays, because it may be the nearest that matches:

    w    2: #news               at distance 2
         5: #sports             an offer of #news and #eu, which is also there, is left out
         9: true                everything, but far away: the two above stay
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cbnet.language.message import Message
from cbnet.routing.interests import Interests, set_bits
from cbnet.routing.router_state import RouterState


class HolderTable:
    """Neighbours, each with the offers behind it by distance."""

    def __init__(self, interests: Interests, holders: Mapping[int, Sequence[tuple[int, int]]]) -> None:
        """Take for each neighbour the holders behind it, each with its distance."""
        self._interests = interests
        self._holders = {neighbour: sorted(behind, key=lambda each: each[1]) for neighbour, behind in holders.items()}
        self._entries = {neighbour: self._levels(behind) for neighbour, behind in self._holders.items()}

    def match(self, request: Message) -> list[int]:
        """Return the neighbours behind which somebody has what is asked for, by the distance of the nearest."""
        matched = self._interests.matched(request)
        found = []
        for neighbour, levels in self._entries.items():
            nearest = next((distance for distance, offers in levels if offers & matched), None)
            if nearest is not None:
                found.append((nearest, neighbour))
        return [neighbour for _, neighbour in sorted(found)]

    def state(self) -> RouterState:
        """Return what the table holds: neighbours, each with distances, which count like identifiers, and offers."""
        levels = [level for levels in self._entries.values() for level in levels]
        holders = [x for behind in self._holders.values() for x, _ in behind]
        return RouterState(
            identifiers=len(self._entries) + len(levels),
            words=sum(self._interests.words(offers) for _, offers in levels),
            unreduced_words=sum(self._interests.unreduced_words(x) for x in holders),
            unreduced_predicates=len(holders),
        )

    def _levels(self, holders: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the distances, ascending, each with the offers that no nearer one covers."""
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
        """Return the offers that are left if those that are nearer are there already."""
        kept = 0
        for place in set_bits(offers & ~nearer):
            if self._interests.disjunction([nearer, 1 << place]) >> place & 1:
                kept |= 1 << place
        return kept
