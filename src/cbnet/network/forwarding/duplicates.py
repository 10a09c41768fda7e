"""Detection of duplicate packets, in bounded memory.

For each source and tree the numbers of the last packets are kept, as bits below the highest number:

    highest        17
    seen       …0 1 1 0 1     17, 15 and 14 were seen; 16 was not

The packets of a source on one tree keep their order, and reach a router once. Only a packet that was committed again,
after a link failed, can come twice, or late. One below the window counts as new: no packet is refused that was not
delivered, and a client detects the rare one that was.
"""

from __future__ import annotations

from dataclasses import dataclass

WINDOW = 1 << 13
_MASK = (1 << WINDOW) - 1
_MAX_SOURCES = 20_000  # lives of routers, and their trees; the one used least recently is evicted


@dataclass
class _Source:
    highest: int
    seen: int = 1


class Duplicates:
    """The packets that were seen."""

    def __init__(self) -> None:
        self._sources: dict[tuple[str, int, int], _Source] = {}

    def is_new(self, source: str, life: int, tree: int, number: int) -> bool:
        """Record a packet; return whether it was not seen before, as far as is known."""
        key = source, life, tree
        known = self._sources.pop(key, None)
        if known is None:
            if len(self._sources) >= _MAX_SOURCES:
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
