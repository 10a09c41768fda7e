"""Group records, kept by every router: at which routers a queue group has members, and how many.

A router floods a new version when members of its clients have come or gone. Records of routers that cannot be reached
do not count. A record is kept until the link record of its owner has expired.
"""

from __future__ import annotations

from collections.abc import Mapping

from cbnet.network.forwarding.forwarding_table import Matches
from cbnet.network.forwarding.queue_groups import GroupKey, Member, grouped, message_identity, winner
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.linkstate.flooding import Flooding, RecordRequests
from cbnet.network.linkstate.records import OwnRecord, RecordTable, RecordVersion
from cbnet.network.protocol.fields import MAX_ROUTERS
from cbnet.network.protocol.frames import GroupField, GroupRecord, Packet

_RATE = 1 << 19  # bytes of own records per second
_FIELD_BYTES = 40  # of a group without its names
_NOBODY: Mapping[str, int] = {}


class GroupTable(RecordTable[GroupRecord]):
    """The group records that one router knows."""

    def __init__(self) -> None:
        super().__init__()
        self._members: dict[GroupKey, dict[str, int]] = {}

    def members(self, key: GroupKey) -> Mapping[str, int]:
        """Return the number of members of a group at each router."""
        return self._members.get(key, _NOBODY)

    @property
    def room(self) -> int:
        """The number of further owners for which there is room."""
        return MAX_ROUTERS - len(self._records)

    def set(self, record: GroupRecord, _: float = 0.0) -> None:
        """Add or replace a record."""
        self._forget(record.owner)
        self._records[record.owner] = record
        for each in record.groups:
            self._members.setdefault(_key(each), {})[record.owner] = each.members

    def remove(self, owner: str, _: float = 0.0) -> None:
        """Remove the record of an owner."""
        self._forget(owner)
        del self._records[owner]

    def _forget(self, owner: str) -> None:
        record = self._records.get(owner)
        for each in () if record is None else record.groups:
            members = self._members.get(_key(each), {})
            members.pop(owner, None)
            if not members:
                self._members.pop(_key(each), None)


def _key(field: GroupField) -> GroupKey:
    return GroupKey(field.account, field.name, field.predicate)


class OwnGroupRecord(OwnRecord):
    """The groups of one router's clients."""

    def __init__(self, core: RouterCore) -> None:
        super().__init__(core, core.links, core.settings.retry)
        self._groups = core.fib.groups
        self._originated = 0  # changes of the groups in the newest version
        self._allowed = float("-inf")  # time of the next version

    @property
    def is_due(self) -> bool:
        """Whether a new version is due."""
        if self._above is not None:
            return self.must_supersede
        return self._originated != self._groups.changes and self._context.now >= self._allowed

    def renew(self) -> None:
        """Originate a new version soon, if there is one: the key has changed."""
        self._originated = self._originated and -1

    def originate(self) -> GroupRecord:
        """Return a new version."""
        sequence, incarnation = self._advance()
        self._originated = self._groups.changes
        fields = [GroupField(*key, count) for key, count in self._groups.counts()]
        size = sum(_FIELD_BYTES + len(each.account) + len(each.name) for each in fields)
        self._allowed = self._context.now + max(self._context.settings.spacing, size / _RATE)
        return self._sign(GroupRecord(self._context.name, incarnation, sequence, fields))

    def _note_foreign(self, neighbour: str, version: RecordVersion) -> None:
        """Log nothing: the first one is usually from before a restart, and link records show forgeries."""


class GroupRecords(Flooding[GroupRecord]):
    """The group records that one router knows, and its own; they decide which member of a group gets a message."""

    kind = "groups"

    def __init__(self, core: RouterCore) -> None:
        self.table = GroupTable()
        self._own_groups = OwnGroupRecord(core)
        requests = RecordRequests(core.settings.retry)
        super().__init__(core, core.links, self.table, self._own_groups, requests)
        self._database = core.database
        self._versions = core.versions
        self._groups = core.fib.groups

    # --- records

    def originate(self) -> None:
        """Originate and flood a new version of the own record, if one is due."""
        if self._own_groups.is_due:
            record = self._own_groups.originate()
            self.table.set(record)
            self.flood(record)

    def check(self) -> None:
        """Remove the records of routers that have no link record any more."""
        super().check()
        for owner in [each.owner for each in self.table if each.owner != self._context.name]:
            if self._database.version(owner) is None:
                self.table.remove(owner)

    def review(self) -> None:
        """Remove the records of others that are refused by now, and sign the own one: the keys have changed."""
        super().review()
        self._own_groups.renew()

    # --- messages

    def choose(self, packet: Packet, matches: Matches) -> Matches:
        """Return what a message matches, with at most one member of each group."""
        if not self._groups:
            return matches
        clients, groups = grouped(matches.clients, self._groups)
        if not groups:
            return matches
        passed: dict[tuple[int, int], str] = {}
        is_turn = packet.mark is None or not packet.mark.is_dry
        identity = message_identity(packet)
        for key, members in groups.items():
            router = self._router(identity, key)
            chosen: Member | None = None
            if router == self._context.name:
                chosen = self._groups.next(key, self._waiting, is_turn=is_turn)
                clients.setdefault(chosen.link, []).append(chosen.id)
                taker = f"subscription {chosen.id} of {self._links.name(chosen.link)}"
            else:
                taker = f"a member at router {router}"
            text = f"{taker} gets the message for group {key.name}"
            passed |= {(member.link, member.id): text for member in members if member != chosen}
        return matches._replace(clients=clients, passed_over=passed)

    def _router(self, message: bytes, key: GroupKey) -> str:
        reachable = self._versions.newest.names
        members = {router: count for router, count in self.table.members(key).items() if router in reachable}
        return winner(message, key, members) if members else self._context.name

    def _waiting(self, link: int) -> int:
        known = self._links.get(link)
        return 0 if known is None else known.traffic.waiting
