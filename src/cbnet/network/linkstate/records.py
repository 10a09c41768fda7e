"""Versions of link records.

The owner numbers its versions. As it starts from 1 again after a restart, a version also has the owner's incarnation, a
random number drawn at its start. Of two versions with the same sequence number the one with the greater incarnation is
newer.

Sequence numbers are a circle: a number is newer than the half of all numbers before it, and the last is followed by 0.
So there is no highest version: whatever record a router forges in the name of another, the owner can outbid it. With an
end of the numbers, or a limit to their growth, a forged record at that limit would stay until it expires, or would be
outbid only where an earlier version is known.

    a ──► b ──► c ──► a     three forged versions may each be newer than the one before

Such records replace each other at every router, but not for ever: a record grows older with each hop, and expires.

    own ──► own + quarter ──► forged + 1     where the forged version is half the circle ahead of the own one

Nothing is newer than both of two opposite versions. So an owner goes at most a quarter of the circle at once: every
router has then the version between, or the forged one, when it receives the last.
"""

from __future__ import annotations

from typing import NamedTuple

from cbnet.network.protocol.fields import MAX_SEQUENCE
from cbnet.network.protocol.frames import HomeAck, HomeRecord, LinkRecord, RecordEntry

_NUMBERS = MAX_SEQUENCE + 1
_HALF = _NUMBERS // 2
_QUARTER = _NUMBERS // 4


class RecordVersion(NamedTuple):
    """The version of a record. Compare with `is_newer`: sequence numbers are a circle."""

    sequence: int
    incarnation: int

    def is_newer(self, other: RecordVersion) -> bool:
        """Return whether this version replaces another one."""
        ahead = other.steps_to(self)
        if ahead in (0, _HALF):
            return self > other
        return ahead < _HALF

    def next(self, incarnation: int) -> RecordVersion:
        """Return the version after this one, in an incarnation of the owner."""
        return RecordVersion((self.sequence + 1) % _NUMBERS, incarnation)

    def is_far_behind(self, other: RecordVersion) -> bool:
        """Return whether another version is more than a quarter of the circle ahead."""
        return self.steps_to(other) > _QUARTER

    def steps_to(self, other: RecordVersion) -> int:
        """Return how many versions after this one another one is."""
        return (other.sequence - self.sequence) % _NUMBERS

    def leap(self) -> RecordVersion:
        """Return the version a quarter of the circle ahead."""
        return RecordVersion((self.sequence + _QUARTER) % _NUMBERS, self.incarnation)


def version_of(record: LinkRecord | HomeRecord | HomeAck | RecordEntry) -> RecordVersion:
    """Return the version of a record, or of that which an entry of a summary or an acknowledgement names."""
    return RecordVersion(record.sequence, record.incarnation)


def entry_of(owner: str, version: RecordVersion) -> RecordEntry:
    """Return the entry of a summary for a record."""
    return RecordEntry(owner, version.incarnation, version.sequence)
