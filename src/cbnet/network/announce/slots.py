"""Slots: small numbers, reused after they are released.

A live table never frees an interface. So its interfaces are numbers, and a released number is given to the next holder.
"""

from __future__ import annotations

from typing import Generic, TypeVar

Holder = TypeVar("Holder")


class Slots(Generic[Holder]):
    """Numbers from 0 on, each for one holder at a time."""

    def __init__(self) -> None:
        self._numbers: dict[Holder, int] = {}
        self._holders: list[Holder | None] = []
        self._free: list[int] = []

    def holder(self, slot: int) -> Holder:
        """Return the holder of a number that is taken."""
        holder = self._holders[slot]
        assert holder is not None
        return holder

    def take(self, holder: Holder) -> int:
        """Return the number of a holder; if it has none, assign a free one."""
        slot = self._numbers.get(holder)
        if slot is None:
            slot = self._free.pop() if self._free else self._append()
            self._numbers[holder], self._holders[slot] = slot, holder
        return slot

    def release(self, holder: Holder) -> int:
        """Free the number of a holder and return it."""
        slot = self._numbers.pop(holder)
        self._holders[slot] = None
        self._free.append(slot)
        return slot

    def _append(self) -> int:
        self._holders.append(None)
        return len(self._holders) - 1

    def __len__(self) -> int:
        return len(self._numbers)
