"""Graceful departure of a router, without loss of messages.

leave()     all its links get the maximum length. The router keeps forwarding; all others prefer another path, if
            there is one
is_known    in the version of the topology with these lengths, every reachable router has acknowledged its streams
"""

from __future__ import annotations

from cbnet.network.announce.confirmations import Confirmations
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.own_links import OwnLinks


class Departure:
    """The departure of one router."""

    def __init__(self, links: LinkTable, own_links: OwnLinks, confirmations: Confirmations) -> None:
        self._links = links
        self._own_links = own_links
        self._confirmations = confirmations

    def leave(self) -> None:
        """Announce the maximum length for all links."""
        self._links.leave()

    @property
    def is_known(self) -> bool:
        """Whether all reachable routers know that this one is leaving."""
        return self._links.is_leaving and self._own_links.is_current and not self._confirmations.missing({})
