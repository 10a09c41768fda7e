"""Detection of duplicate packets in plain Python: bits below the highest number, sources in the order of use.

highest        17
seen       …0 1 1 0 1     17, 15 and 14 were seen; 16 was not
"""

from __future__ import annotations

from dataclasses import dataclass

WINDOW = 1 << 13
_MASK = (1 << WINDOW) - 1


@dataclass
class _Source:
    highest: int
    seen: int = 1


class Duplicates:
    """The packets that were seen."""

    def __init__(self, max_sources: int = 20_000) -> None:
        self._max_sources = max_sources
        self._sources: dict[tuple[str, int, int], _Source] = {}

    def is_new(self, source: str, incarnation: int, tree: int, number: int) -> bool:
        """Record a packet; return whether it was not seen before, as far as is known."""
        key = source, incarnation, tree
        known = self._sources.pop(key, None)
        if known is None:
            if len(self._sources) >= self._max_sources:
                del self._sources[next(iter(self._sources))]
            self._sources[key] = _Source(number)
            return True
        self._sources[key] = known  # as the one used last
        ahead = number - known.highest
        if ahead > 0:
            known.seen = (known.seen << ahead | 1) & _MASK if ahead < WINDOW else 1
            known.highest = number
            return True
        if -ahead >= WINDOW:
            return True
        if known.seen >> -ahead & 1:
            return False
        known.seen |= 1 << -ahead
        return True
