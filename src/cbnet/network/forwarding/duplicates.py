"""Duplicates: has this packet been here before? Remembered in little room, and never wrongly denied.

For each source the numbers of the last packets are kept, as bits below the highest that came:

    highest        17
    seen       …0 1 1 0 1     17, 15 and 14 have come; 16 has not

A number below the bits is taken for one that has come. So no packet passes twice; one that is overtaken by very many
others of its source is lost, and counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from cbnet.network.link.counters import DropReason

WINDOW = 1 << 13
_MASK = (1 << WINDOW) - 1
_MOST_SOURCES = 20_000  # lives of routers; then the one that came first is forgotten


@dataclass
class _Source:
    highest: int
    seen: int = 1


class Duplicates:
    """The packets that have come."""

    def __init__(self) -> None:
        self._sources: dict[tuple[str, int], _Source] = {}

    def refusal(self, source: str, life: int, number: int) -> DropReason | None:
        """Return why a packet must not go on, or None, and remember that it came."""
        known = self._sources.get((source, life))
        if known is None:
            self._add(source, life, number)
            return None
        ahead = number - known.highest
        if ahead > 0:
            known.seen = (known.seen << ahead | 1) & _MASK if ahead < WINDOW else 1
            known.highest = number
            return None
        if -ahead >= WINDOW:
            return DropReason.OVERTAKEN
        if known.seen >> -ahead & 1:
            return DropReason.DUPLICATE
        known.seen |= 1 << -ahead
        return None

    def _add(self, source: str, life: int, number: int) -> None:
        if len(self._sources) >= _MOST_SOURCES:
            del self._sources[next(iter(self._sources))]
        self._sources[source, life] = _Source(number)
