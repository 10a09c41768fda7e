"""Slots: which small number stands for something that comes and goes?

A live table never forgets an interface that it was once told of. So its interfaces are numbers, and the number of
what is gone is given to what comes next.
"""

from __future__ import annotations

from functools import cache
from typing import Generic, TypeVar

from cbnet.matching import LiveTable, Table
from cbnet.network.announce.timed_table import TimedTable

Holder = TypeVar("Holder")


@cache
def _empty() -> Table[int]:
    return Table.build({})


def timed_table() -> TimedTable:
    """Return a new table without interfaces, whose matches are counted and timed."""
    return TimedTable(_empty())


def live_table() -> LiveTable[int]:
    """Return a new table without interfaces. All begin with one that is compiled once: that takes milliseconds."""
    return LiveTable(_empty())


class Slots(Generic[Holder]):
    """Numbers from 0 on, each for one holder at a time."""

    def __init__(self) -> None:
        self._of: dict[Holder, int] = {}
        self._holders: list[Holder | None] = []
        self._free: list[int] = []

    def holder(self, slot: int) -> Holder:
        """Return who has a number that is taken."""
        found = self._holders[slot]
        assert found is not None
        return found

    def take(self, holder: Holder) -> int:
        """Return the number of a holder; if it has none, one that is free."""
        slot = self._of.get(holder)
        if slot is None:
            slot = self._free.pop() if self._free else self._added()
            self._of[holder], self._holders[slot] = slot, holder
        return slot

    def give_back(self, holder: Holder) -> int:
        """Take a number away from its holder; return it."""
        slot = self._of.pop(holder)
        self._holders[slot] = None
        self._free.append(slot)
        return slot

    def _added(self) -> int:
        self._holders.append(None)
        return len(self._holders) - 1

    def __len__(self) -> int:
        return len(self._of)
