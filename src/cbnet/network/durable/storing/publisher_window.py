"""Messages of one publisher that a home has stored, in bounded memory.

    floor 7    seen …0101       all below 7 are settled; 7 and 9 are stored, 8 is not

The publisher states the number below which it no longer waits for answers, and has at most `MAX_UNSETTLED` messages
above it.
A duplicate, through whatever router, is recognised as long as the publisher is known.
"""

from __future__ import annotations

from cbnet.network.durable.journal import SaveWindow
from cbnet.network.protocol.durable_frames import MAX_UNSETTLED


class PublisherWindow:
    """The messages of one publisher at one home."""

    __slots__ = ("_seen", "floor", "publisher", "used")  # there may be very many

    def __init__(self, publisher: int, floor: int = 1, seen: int = 0) -> None:
        self.publisher = publisher
        self.floor = floor
        self._seen = seen  # bit n: message floor + n is stored
        self.used = 0.0  # time of the last message

    @classmethod
    def recovered(cls, saved: SaveWindow) -> PublisherWindow:
        """Return a window that was saved in a journal."""
        return cls(saved.publisher, saved.floor, int.from_bytes(saved.seen, "little"))

    def saved(self) -> SaveWindow:
        """Return the window as saved in a journal."""
        seen = self._seen.to_bytes((self._seen.bit_length() + 7) // 8, "little")
        return SaveWindow(self.publisher, self.floor, seen)

    def has(self, sequence: int) -> bool:
        """Return whether a message is stored, or settled in another way."""
        return sequence < self.floor or bool(self._seen >> (sequence - self.floor) & 1)

    def is_late(self, sequence: int) -> bool:
        """Return whether a later message is stored, so that this one can no longer be stored in order."""
        return not self.has(sequence) and sequence < self.floor + self._seen.bit_length()

    def fits(self, sequence: int) -> bool:
        """Return whether a message is not too far above the floor."""
        return sequence < self.floor + MAX_UNSETTLED

    def add(self, sequence: int) -> None:
        """Record that a message is stored."""
        if sequence >= self.floor:
            self._seen |= 1 << (sequence - self.floor)

    def advance(self, floor: int) -> None:
        """Forget the messages below a floor; a floor lower than the current one changes nothing."""
        if floor > self.floor:
            self._seen >>= floor - self.floor
            self.floor = floor
