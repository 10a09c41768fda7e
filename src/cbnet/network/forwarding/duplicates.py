"""Detection of duplicate packets, in bounded memory and without false negatives.

For each source the numbers of the last packets are kept, as bits below the highest number:

    highest        17
    seen       …0 1 1 0 1     17, 15 and 14 were seen; 16 was not

A number below the window counts as seen. So no packet passes twice; one that is overtaken by more than a window of
later ones is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

from cbnet.network.link.counters import DropReason

WINDOW = 1 << 13
_MASK = (1 << WINDOW) - 1
_MAX_SOURCES = 20_000  # lives of routers; the oldest is evicted


@dataclass
class _Source:
    highest: int
    seen: int = 1


class Duplicates:
    """The packets that were seen."""

    def __init__(self) -> None:
        self._sources: dict[tuple[str, int], _Source] = {}

    def check(self, source: str, life: int, number: int) -> DropReason | None:
        """Record a packet; return the reason to drop it, or None."""
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
        if len(self._sources) >= _MAX_SOURCES:
            del self._sources[next(iter(self._sources))]
        self._sources[source, life] = _Source(number)
