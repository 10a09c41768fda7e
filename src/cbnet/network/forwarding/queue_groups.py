"""Queue groups: each message goes to one of the members, at whichever routers they are.

    record of r1    workers: 2 members  ┐  every router has the records of all routers
    record of r2    workers: 1 member   ┘
    a message       hash of (message, group, r1), of (message, group, r2) ──► the winner; r1 wins two of three
    at the winner   its members take turns; one whose client does not read is passed over while others do

A group is an account, a name and a predicate. So a message that matches one member matches all, and every router with
members receives it; each computes the same winner, and the others do not deliver. Nothing is added to the message.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from hashlib import blake2b
from math import log
from typing import NamedTuple

from cbnet.errors import LimitError
from cbnet.network.protocol.fields import MAX_GROUPS
from cbnet.network.protocol.frames import Packet

_ROOM = 1 << 16  # bytes that wait for a client beyond which other members are preferred


class GroupKey(NamedTuple):
    """The identity of a group."""

    account: str
    name: str
    predicate: bytes  # digest of its filters


class Member(NamedTuple):
    """A subscription that is a member of a group."""

    link: int
    id: int


class LocalGroups:
    """The members of groups among the clients of one router."""

    def __init__(self) -> None:
        self._keys: dict[Member, GroupKey] = {}
        self._members: dict[GroupKey, dict[Member, None]] = {}  # the next one in turn is first
        self.changes = 0  # so far

    def __len__(self) -> int:
        return len(self._keys)

    def key(self, subscriber: Hashable, id: int) -> GroupKey | None:
        """Return the group of a subscription, if it has one."""
        return self._keys.get((subscriber, id))  # type: ignore[call-overload, no-any-return]

    def counts(self) -> Iterator[tuple[GroupKey, int]]:
        """Yield each group with the number of its members."""
        return ((key, len(members)) for key, members in sorted(self._members.items()))

    def check(self, key: GroupKey) -> None:
        """Raise a `LimitError` if another group is one too many."""
        if key not in self._members and len(self._members) >= MAX_GROUPS:
            raise LimitError("queue groups of a router", len(self._members) + 1, MAX_GROUPS)

    def join(self, member: Member, key: GroupKey) -> None:
        """Add a member to a group, instead of the one that it had."""
        if self._keys.get(member) != key:
            self.leave(member)
            self._keys[member] = key
            self._members.setdefault(key, {})[member] = None
            self.changes += 1

    def leave(self, member: Member) -> None:
        """Remove a member, if it is one."""
        key = self._keys.pop(member, None)
        if key is not None:
            members = self._members[key]
            del members[member]
            if not members:
                del self._members[key]
            self.changes += 1

    def next(self, key: GroupKey, waiting: Callable[[int], int], *, is_turn: bool) -> Member:
        """Return the next member in turn; waiting: returns the bytes that wait for a link; is_turn: it is its turn."""
        members = self._members[key]
        found = next((each for each in members if waiting(each.link) <= _ROOM), None)
        if found is None:
            found = min(members, key=lambda each: waiting(each.link))
        if is_turn:
            del members[found]
            members[found] = None
        return found


def winner(message: bytes, key: GroupKey, members: Mapping[str, int]) -> str:
    """Return the router whose member gets a message: each with the probability of its share of the members.

    If members come or go, only messages that they won, or win then, go to another router: weighted rendezvous hashing.
    """
    if len(members) == 1:
        return next(iter(members))
    about = blake2b("\0".join((key.account, key.name)).encode() + key.predicate + message).digest()
    return max(members, key=lambda router: (_score(about, router, members[router]), router))


def _score(about: bytes, router: str, weight: int) -> float:
    digest = blake2b(router.encode(), key=about, digest_size=8).digest()
    return -weight / log((int.from_bytes(digest) + 1) / (2**64 + 2))


def message_identity(packet: Packet) -> bytes:
    """Return the identity of a message, the same at all routers: a durable publisher may use several routers."""
    source = "" if packet.durable is not None else packet.origin or packet.source
    return f"{source}\0{packet.incarnation}\0{packet.number}".encode()


def grouped(
    clients: Mapping[int, Iterable[int]], groups: LocalGroups
) -> tuple[dict[int, list[int]], dict[GroupKey, list[Member]]]:
    """Return the ids by link that are in no group, and the members of each group."""
    single: dict[int, list[int]] = {}
    members: dict[GroupKey, list[Member]] = {}
    for link, ids in clients.items():
        for id in ids:
            key = groups.key(link, id)
            if key is None:
                single.setdefault(link, []).append(id)
            else:
                members.setdefault(key, []).append(Member(link, id))
    return single, members
