"""Graceful departure of a router, without loss of messages.

    leave()     all its links get the maximum length. The router keeps forwarding; all others prefer another path, if
                there is one
    is_known    every reachable router has the record with these lengths

Records keep their order on every link, and every router forwards them. So a router that has a version of this router's
predicate that is newer than its link record has that link record too; and predicates are acknowledged.
"""

from __future__ import annotations

from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.confirmations import Confirmations
from cbnet.network.linkstate.own_records import OwnRecords
from cbnet.network.linkstate.records import Version


class Departure:
    """The departure of one router."""

    def __init__(self, links: LinkTable, own_records: OwnRecords, confirmations: Confirmations) -> None:
        self._links = links
        self._own_records = own_records
        self._confirmations = confirmations
        self._version: Version | None = None  # of the predicate, originated after the link record

    def leave(self) -> None:
        """Announce the maximum length for all links."""
        self._links.leave()

    def check(self) -> None:
        """Renew the predicate once the link record is out."""
        if self._links.is_leaving and self._version is None and self._own_records.are_links_current:
            self._version = self._own_records.renew_predicate()

    def request_acks(self) -> None:
        """Request missing acknowledgements."""
        if self._version is not None:
            self._confirmations.request_acks(self._version)

    @property
    def is_known(self) -> bool:
        """Whether all reachable routers know that this one is leaving."""
        return self._version is not None and self._confirmations.is_confirmed(self._version)
