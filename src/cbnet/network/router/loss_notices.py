"""Notices to clients that messages may be lost, because a router has failed or cannot be reached.

Links keep the order of packets, credit prevents drops between healthy routers, and packets sent over a link that has
died are sent again over others. So a gap arises where a router fails with packets in its memory, or where the network
is partitioned. Every router learns of that from the link records, even afterwards: a link that was interrupted has
other sessions than before, though perhaps only one of its ends has noticed. How many messages were lost, and for which
clients, cannot be determined: the number in the notice is 0, which means "unknown".

A router that leaves gracefully (it first announces the maximum length for its links) loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from cbnet.network.announce.subscriptions import Subscriptions
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.linkstate.versions import Version
from cbnet.network.protocol.fields import MAX_REASON_LENGTH, MAX_WEIGHT
from cbnet.network.protocol.frames import Lost
from cbnet.topology.traversal import reachable

_MAX_NAMES = 5
Ends: TypeAlias = tuple[str, str]  # of a link


class LossNotices:
    """The notices of one router to those of its clients that have subscriptions."""

    def __init__(self, core: RouterCore, subscriptions: Subscriptions, on_loss: Callable[[str], None]) -> None:
        """Initialise; on_loss: called with the cause."""
        self._core = core
        self._subscriptions = subscriptions
        self._on_loss = on_loss
        self._version: Version | None = None  # at the last check
        self._incarnations: dict[str, int | None] = {}  # of its routers
        self._sessions: Mapping[Ends, set[int]] = {}  # of its links

    def check(self, version: Version) -> None:
        """Compare the reachable routers with those before, and notify the clients of failures."""
        if version is self._version:
            return
        self._version = version
        before, self._incarnations = (
            self._incarnations,
            {name: self._core.database.incarnation(name) for name in version.names},
        )
        gone = [name for name in before if name not in self._incarnations and not self._has_left(name)]
        restarted = [
            name for name, incarnation in before.items() if self._incarnations.get(name, incarnation) != incarnation
        ]
        reached = self._always_reached(version)
        parted = [name for name in self._incarnations if name in before and name not in {*reached, *restarted}]
        if gone:
            self._notify(f"{_list(gone)} cannot be reached: messages from there, or on the way through it, may be lost")
        if restarted:
            self._notify(f"{_list(restarted)} has restarted: messages that it was forwarding may be lost")
        if parted:
            self._notify(f"{_list(parted)} could not be reached for a time: messages from there may be lost")

    def _always_reached(self, version: Version) -> set[str]:
        """Return the routers that can be reached over links that existed at the last check and still exist."""
        before, self._sessions = self._sessions, {ends: self._common_sessions(*ends) for ends in version.edges}
        kept = (ends for ends, now in self._sessions.items() if not now.isdisjoint(before.get(ends, ())))
        return reachable(self._core.name, kept)

    def _common_sessions(self, a: str, b: str) -> set[int]:
        one, other = self._core.database.neighbours(a).get(b), self._core.database.neighbours(b).get(a)
        return set() if one is None or other is None else {*one.sessions} & {*other.sessions}

    def _has_left(self, name: str) -> bool:
        return all(link.weight == MAX_WEIGHT for link in self._core.database.neighbours(name).values())

    def _notify(self, cause: str) -> None:
        self._on_loss(cause)
        for link in self._core.links.all():
            if not link.is_router and self._subscriptions.count(link.id):
                self._core.outbox.send(link.id, Lost(0, cause[:MAX_REASON_LENGTH]))


def _list(names: Collection[str]) -> str:
    shown = ", ".join(sorted(names)[:_MAX_NAMES])
    more = len(names) - _MAX_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown
