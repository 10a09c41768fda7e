"""Home record of this router, flooded to all routers: the filters of messages that its journal must store."""

from __future__ import annotations

from collections.abc import Collection

from cbnet.network.durable.records.home_records import HomeRecords
from cbnet.network.link.context import RouterContext
from cbnet.network.linkstate.records import RecordVersion, version_of
from cbnet.network.protocol.durable_frames import DurableName
from cbnet.network.protocol.frames import HomeRecord


class OwnHomeRecord:
    """The durable subscriptions of one router that are on disk, and its history."""

    def __init__(self, context: RouterContext, records: HomeRecords) -> None:
        self._context = context
        self._records = records
        self._filters: dict[int, Collection[bytes]] = {}  # by id
        self._names: dict[int, DurableName] = {}
        self._newest = records.get(context.name)  # even if it is not on disk yet
        self._flooded = 0.0  # time of the last flooding
        self._above: RecordVersion | None = None  # a newer version to supersede
        self.address = ""  # that clients connect to
        records.on_own = self._outbid

    # --- lookup

    @property
    def version(self) -> RecordVersion:
        """The newest version; it is flooded once it is on disk."""
        return RecordVersion(0, self._context.incarnation) if self._newest is None else version_of(self._newest)

    @property
    def is_outdated(self) -> bool:
        """Whether the newest version differs from the current durable subscriptions and history."""
        own = self._newest
        return own is None or own.names != self._all_names() or {*own.filters} != self.all_filters()

    @property
    def is_outbid(self) -> bool:
        """Whether a newer version, made elsewhere, must be superseded."""
        return self._above is not None

    def filters(self, id: int) -> Collection[bytes]:
        """Return the filters of a durable subscription, or of the history; none if it is not on disk."""
        return self._filters.get(id, ())

    def all_filters(self) -> set[bytes]:
        """Return all filters."""
        return {filter for filters in self._filters.values() for filter in filters}

    def _all_names(self) -> list[DurableName]:
        return sorted(self._names.values())

    def is_due(self, now: float) -> bool:
        """Return whether the record has not been flooded recently."""
        return now - self._flooded >= self._context.settings.retry

    # --- changes

    def set(self, id: int, name: DurableName | None, filters: Collection[bytes]) -> None:
        """Add a durable subscription, or, without a name, the history; `announce` floods it."""
        self._filters[id] = filters
        if name is not None:
            self._names[id] = name

    def remove(self, id: int) -> bool:
        """Remove a durable subscription; return whether it was there."""
        self._names.pop(id, None)
        return self._filters.pop(id, None) is not None

    def announce(self) -> None:
        """Flood a new version."""
        if self._newest is None and not self._filters and self._above is None:
            return
        sequence, incarnation = (self._above or self.version).next(self._context.incarnation)
        self._above = None
        self._flooded = self._context.now
        names, filters = self._all_names(), sorted(self.all_filters())
        self._newest = HomeRecord(self._context.name, incarnation, sequence, self.address, names, filters)
        self._records.set_own(self._newest)

    def _outbid(self, version: RecordVersion) -> None:
        """Supersede a version of the own record at the next check: another router with this name may do so, too."""
        if version.is_newer(self._above or self.version):
            self._above = version

    def set_address(self, address: str) -> None:
        """Set the address that clients connect to; the record contains it."""
        self.address = address
        own = self._newest
        if own is not None and own.names and own.address != address:
            self.announce()
