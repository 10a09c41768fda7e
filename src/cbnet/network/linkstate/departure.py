"""Departure: how does a router go so that no message misses it? It tells the others, and waits until they know.

    leave()     its links become as long as a link can be. It stays where it is, and passes on what still comes; for
                all others another way is shorter, if there is one
    is_known    every router that can be reached has the record that says so

Records keep their order on every link, and every router passes them on. So who has a version of this router's predicate
that was made after the record of its links has that record too; and for predicates there are confirmations.
"""

from __future__ import annotations

from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.confirmations import Confirmations
from cbnet.network.linkstate.own_records import OwnRecords
from cbnet.network.linkstate.records import Version


class Departure:
    """Whether a router leaves, and who knows."""

    def __init__(self, links: LinkTable, origin: OwnRecords, confirmations: Confirmations) -> None:
        self._links = links
        self._origin = origin
        self._confirmations = confirmations
        self._version: Version | None = None  # of the predicate, after the record of the links

    def leave(self) -> None:
        """Tell all that other ways are better."""
        self._links.leave()

    def check(self) -> None:
        """When the links are told, ask who knows."""
        if self._links.is_leaving and self._version is None and self._origin.has_told_links:
            self._version = self._origin.renewed()

    def remind(self) -> None:
        """Ask those who have not told that they know."""
        if self._version is not None:
            self._confirmations.remind(self._version)

    @property
    def is_known(self) -> bool:
        """Whether all who can be reached know that this router leaves."""
        return self._version is not None and self._confirmations.is_known(self._version)
