"""Announcements of one router: those it sends, those it receives, and their confirmation.

    subscriptions, offers ─► streams to neighbours ─► acknowledgements ─► confirmations
    streams from neighbours ──────┘        └─► export to other domains

In a network built from data, nodes have predicates to announce before any client subscribes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cbnet.language.predicate import Predicate
from cbnet.language.syntax.byte_form import filter_to_bytes
from cbnet.network.announce.acknowledgements import Acknowledgements
from cbnet.network.announce.announcer import Announcer
from cbnet.network.announce.confirmations import Confirmations
from cbnet.network.announce.exports import Exports
from cbnet.network.announce.streams import StreamTable
from cbnet.network.announce.subscriptions import Subscriptions
from cbnet.network.forwarding.forwarding_table import InternalSubscriber
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.link import Link


@dataclass(frozen=True)
class NodeData:
    """A node's own predicate, which belongs to no client, and the computed tables of its router."""

    predicate: Predicate = field(default_factory=Predicate)
    tables: Sequence[Mapping[str, Iterable[bytes]]] = ()  # of each tree: encoded filters by neighbour


NO_DATA = NodeData()


class Announcements:
    """The parts of one router that announce filters."""

    def __init__(self, core: RouterCore, data: NodeData) -> None:
        self._context = core
        self._versions = core.versions
        self._version = core.versions.newest  # with other links than the one before
        self.subscriptions = Subscriptions(core.fib)
        self.offers = Subscriptions(core.offer_fib)
        self.streams = streams = StreamTable(core.fib, core.offer_fib)
        self.exports = Exports(core, streams)
        self.announcer = Announcer(core, streams, self.exports)
        silent = self.announcer.silent
        self.acknowledgements = Acknowledgements(core, streams, self.exports, silent)
        self.confirmations = Confirmations(core, streams, self.exports, self.acknowledgements, silent)
        core.links.on_closed.append(self._link_closed)
        core.versions.on_adopted.append(self._adopted)
        self.announcer.retained.load(data.tables)
        if data.predicate.filters:
            self.subscriptions.set(InternalSubscriber.INITIAL, 0, map(filter_to_bytes, data.predicate.filters))

    def open_session(self, link: Link) -> None:
        """Start announcing to a neighbour."""
        self.announcer.open_session(link)
        self.acknowledgements.consider_all()

    def _link_closed(self, link: Link) -> None:
        """Forget the streams of a neighbour's session, or the subscriptions and offers of a client."""
        if link.is_router:
            self.announcer.close_session(link.session)
            self.acknowledgements.consider_all()
        else:
            self.subscriptions.remove_client(link.id)
            self.offers.remove_client(link.id)
            self.confirmations.remove_client(link.id)

    def _adopted(self) -> None:
        if self._version is not self._versions.newest:
            self._version = self._versions.newest
            self.announcer.reconsider()
        self.acknowledgements.consider_all()

    def export(self, *, is_exporting: bool) -> None:
        """Export this domain's subscriptions and offers to the gateway, in full and then as changes; or stop."""
        self.exports.close()
        self.exports.is_exporting = is_exporting
        self.announcer.reconsider()
        self.acknowledgements.consider_all()

    def confirm_export(self, sequence: int) -> None:
        """Acknowledge the changes that the other domains have confirmed."""
        self.acknowledgements.consider(self.exports.confirm(sequence))

    def check(self) -> None:
        """Do periodic work."""
        self.acknowledgements.report_waiting()
        self.announcer.silent.check()
        self.announcer.pace.repeat()
        self.announcer.retained.expire(self._context.now)
        self.confirmations.check_deadlines()

    def finish_turn(self) -> None:
        """Announce, acknowledge and confirm what is due at the end of a turn."""
        self.acknowledgements.consider(self.announcer.finish_turn())
        self.acknowledgements.finish_turn()
        self.confirmations.finish_turn()
