"""Versions of link records.

The owner numbers its versions. As it starts from 1 again after a restart, a version also has the owner's incarnation, a
random number drawn at its start. Of two versions with the same sequence number the one with the greater incarnation is
newer.

Sequence numbers form a circle: a number is newer than the half of all numbers before it, and the last is followed by 0.
There is thus no highest version: whatever record a router forges in the name of another, the owner can supersede it. If
the numbers ended, or their growth were limited, a forged record at that limit would stay until it expires, or would be
superseded only where an earlier version is known.

    a ──► b ──► c ──► a     three forged versions may each be newer than the one before

Such records replace each other at every router, but not for ever: a record ages with each hop, and expires.

    own ──► own + quarter ──► forged + 1     where the forged version is half the circle ahead of the own one

No version is newer than both of two opposite versions. An owner therefore advances at most a quarter of the circle at a
time: every router then has the intermediate version, or the forged one, when it receives the last.
"""

from __future__ import annotations

from typing import NamedTuple

from cbnet.network.protocol.fields import MAX_SEQUENCE
from cbnet.network.protocol.frames import HomeAck, HomeRecord, LinkRecord, RecordEntry

_NUMBERS = MAX_SEQUENCE + 1
_HALF = _NUMBERS // 2
_QUARTER = _NUMBERS // 4


class RecordVersion(NamedTuple):
    """The version of a record. Compare with `is_newer`: sequence numbers form a circle."""

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
        """Return the number of versions from this one to another one."""
        return (other.sequence - self.sequence) % _NUMBERS

    def leap(self) -> RecordVersion:
        """Return the version a quarter of the circle ahead."""
        return RecordVersion((self.sequence + _QUARTER) % _NUMBERS, self.incarnation)


def version_of(record: LinkRecord | HomeRecord | HomeAck | RecordEntry) -> RecordVersion:
    """Return the version of a record, or of the record that a summary entry or an acknowledgement names."""
    return RecordVersion(record.sequence, record.incarnation)


def entry_of(owner: str, version: RecordVersion) -> RecordEntry:
    """Return the entry of a summary for a record."""
    return RecordEntry(owner, version.incarnation, version.sequence)
