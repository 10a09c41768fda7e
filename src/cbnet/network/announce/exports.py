"""Export of a domain: its subscriptions and offers, announced to other domains by this router's gateway.

    clients ─► own filters ─┐
    stream from w1 ─────────┼─► reduced union ─► export ─► gateway ─► routers of the gateway in other domains
    stream from w2 ─────────┘                                 streams of the first tree, or of this router's own

An export has the same sources as a stream to one more neighbour, and is acknowledged like one: once the other domains
have confirmed it. It excludes the filters that the gateway has registered here for other domains. When the streams that
describe this domain change, it is reopened with its whole content. The numbering of its changes continues across
reopenings, so a single number identifies a change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from cbnet.network.announce.streams import Incoming, Outgoing, StreamTable
from cbnet.network.announce.subscriptions import OwnSource
from cbnet.network.forwarding.forwarding_table import SideKey
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.linkstate.tree_view import TreeView
from cbnet.routing.aggregation.aggregation import Difference

OTHER_DOMAINS = "other domains"  # in place of the neighbour's name in the key of a stream


@dataclass(eq=False)
class Export(Outgoing):
    """A stream to other domains."""

    first: int = 1  # sequence number of its first change

    def is_stamped(self, version: int, sequence: int) -> bool:  # noqa: ARG002
        """Return whether the other domains have a change; versions of this domain's topology do not apply to them."""
        return self.is_open and self.acked >= max(self.first, sequence)

    def confirm(self, sequence: int) -> None:
        """Record that the other domains have confirmed a change."""
        self.acked = max(sequence, self.acked)
        self._settle(self.acked)


class ExportChange(NamedTuple):
    """A change to the export of a domain: to its subscriptions and to its offers."""

    sequence: int
    differences: tuple[Difference, Difference]
    is_whole: bool  # whether the added filters are the whole content


class Exports:
    """The export of one router; it exists only while the router's gateway announces the domain to others."""

    def __init__(self, core: RouterCore, streams: StreamTable) -> None:
        self._context = core
        self._versions = core.versions
        self._streams = streams
        self._sequence = 0
        self._current: Export | None = None
        self.on_change: Callable[[ExportChange], None] = lambda _: None
        self.is_exporting = False

    # --- lookup

    @property
    def tree(self) -> TreeView | None:
        """The tree of the newest version whose streams describe this domain."""
        return self._versions.newest.tree(0, self._context.name)

    @property
    def current(self) -> Export | None:
        """The export that the newest version requires, if any."""
        return None if self._current is None or self._current.feeds != self._feeds() else self._current

    def fed_by(self, stream: Incoming) -> list[Export]:
        """Return the export if an incoming stream feeds it."""
        return [] if self._current is None or stream not in self._current.feeds else [self._current]

    def _feeds(self) -> tuple[Incoming, ...] | None:
        """Return the streams that describe this domain; None if some have not arrived."""
        tree = self.tree
        feeds = [] if tree is None else [self._streams.from_side(link) for link in tree.links.values() if link.receives]
        found = tuple(each for each in feeds if each is not None)
        return found if len(found) == len(feeds) else None

    # --- changes

    def close(self) -> None:
        """Close the export; the other domains keep what they have received."""
        if self._current is not None:
            self._current.is_open = False
            for kind in self._streams.kinds:
                kind.close(self._current)
            self._current = None

    def open(self) -> None:
        """Reopen the export with its whole content if its feeds have changed and all have arrived."""
        feeds = self._feeds() if self.is_exporting else None
        if feeds is None or (self._current is not None and self._current.feeds == feeds):
            return
        self.close()
        self._sequence += 1
        key = SideKey(OTHER_DOMAINS, 0, b"")
        export = self._current = Export(key, 0, feeds, sequence=self._sequence, first=self._sequence)
        for kind in self._streams.kinds:
            kind.open(export, (OwnSource.CLIENTS, *feeds))
        self.collect_changes()

    def collect_changes(self) -> None:
        """Export the pending changes, or first the whole content once it is ready."""
        export = self._current
        if export is None:
            return
        if not export.is_begun:
            self._export_whole(export)
            return
        if not any(kind.has_pending(export) for kind in self._streams.kinds):
            return
        subscriptions, offers = (kind.take(export) for kind in self._streams.kinds)
        export.sequence = self._sequence = self._sequence + 1
        export.note(subscriptions, offers)
        self.on_change(ExportChange(self._sequence, (subscriptions, offers), is_whole=False))

    def _export_whole(self, export: Export) -> None:
        if all(kind.is_ready(export) for kind in self._streams.kinds):
            export.is_begun = True
            for kind in self._streams.kinds:
                kind.take(export)
            subscriptions, offers = (Difference(list(kind.content(export)), []) for kind in self._streams.kinds)
            self.on_change(ExportChange(self._sequence, (subscriptions, offers), is_whole=True))

    def confirm(self, sequence: int) -> tuple[Incoming, ...]:
        """Record that the other domains have confirmed a change; return the streams that may be acknowledged now."""
        if self._current is None:
            return ()
        self._current.confirm(sequence)
        return self._current.feeds
