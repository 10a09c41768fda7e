"""Confirmations of durable subscriptions, for clients that wait until all routers know them.

A router knows a subscription when it has the home record and the announcement of its filters. Records are awaited
first, then announcements, then records again, until no new router lacks one.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import NamedTuple

from cbnet.network.announce.confirmations import SUBSCRIPTION, Confirmations
from cbnet.network.durable.records.home_records import HomeRecords
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.linkstate.records import RecordVersion
from cbnet.network.protocol.frames import Subscribed


class _Unconfirmed(NamedTuple):
    """A client whose subscription is in a version of this router's record that some routers lack."""

    link: int
    id: int
    filters: Collection[bytes]
    version: RecordVersion  # of the record that contains it
    deadline: float


class DurableConfirmations:
    """The clients of one router that wait for the confirmation of a durable subscription."""

    def __init__(
        self,
        core: RouterCore,
        confirmations: Confirmations,
        records: HomeRecords,
    ) -> None:
        self._context = core.context
        self._versions = core.versions
        self._confirmations = confirmations
        self._records = records
        self._unconfirmed: list[_Unconfirmed] = []

    def wait(self, link: int, id: int, filters: Collection[bytes], deadline: float) -> None:
        """Answer a client once all routers have the current record and the announcement of the filters."""
        version = self._records.announced
        self._unconfirmed.append(_Unconfirmed(link, id, filters, version, deadline))
        if self._missing(version) and self._records.own.may_repeat:
            self._records.announce()  # routers that have this version do not acknowledge it again

    def cancel(self, link: int, id: int) -> None:
        """Stop waiting for a subscription of a client."""
        self._unconfirmed = [each for each in self._unconfirmed if (each.link, each.id) != (link, id)]

    def check(self) -> None:
        """Confirm subscriptions whose record all routers have; flood it again if some have not acknowledged it."""
        now = self._context.now
        waiting, self._unconfirmed = self._unconfirmed, []
        for each in waiting:
            missing = self._missing(each.version)
            if not missing:
                left = max(0.001, each.deadline - now)
                waits_on = partial(self._waits_on, each)
                self._confirmations.wait(each.link, each.id, SUBSCRIPTION, each.filters, left, waits_on)
            elif now >= each.deadline:
                routers = len(self._versions.newest.names)
                self._context.outbox.send(each.link, Subscribed(each.id, False, routers, missing))
            else:
                self._unconfirmed.append(each)
        if self._unconfirmed and self._records.own.may_repeat:
            self._records.announce()

    def _waits_on(self, each: _Unconfirmed) -> bool:
        """Return whether a router that lacks the record has joined meanwhile; if so, wait for it, too."""
        is_missing = bool(self._missing(each.version))
        if is_missing:
            self._unconfirmed.append(each)
        return is_missing

    def _missing(self, version: RecordVersion) -> list[str]:
        return self._records.unacknowledged(version, self._versions.newest.names)
