"""Subscriptions and offers of one domain of a gateway, and their summary for the other domains.

    content    the export of the gateway's router in that domain, exact
    announced  the summary that is announced to the other domains; "exact": the content itself

With "exact", a change is announced as it is. Any other summary is recomputed from the whole content, and so not more
often than a quarter of a processor allows. A summary that is too large is replaced by "everything".
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from typing import NamedTuple

from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.byte_form import canonical_filter, filter_from_bytes, filter_to_bytes
from cbnet.network.announce.exports import ExportChange
from cbnet.network.logs import log
from cbnet.network.router.filter_quotas import MAX_NODE_BYTES, MAX_NODE_FILTERS
from cbnet.routing.schemes.domains import summary

_FILTERS_PER_SECOND = 50_000  # that a gateway summarises on a quarter of a processor
MAX_SUMMARY_FILTERS = MAX_NODE_FILTERS // 4  # of one side
MAX_SUMMARY_BYTES = MAX_NODE_BYTES // 4


class FilterChange(NamedTuple):
    """Filters added to the subscriptions or offers of a domain, and removed from them."""

    added: Collection[Filter]
    removed: Collection[Filter]


class _Kind:
    """The subscriptions, or the offers, of a domain."""

    def __init__(self, network: str, outside: str) -> None:
        self._network = network
        self._summary = summary(outside)
        self._is_exact = outside == "exact"
        self._content: dict[bytes, Filter] = {}
        self._size = 0  # bytes of the content
        self._changed: dict[bytes, None] = {}  # since the last announcement
        self._is_announced_exactly = True
        self.announced: dict[bytes, Filter] = {}

    def __len__(self) -> int:
        return len(self._content)

    @property
    def is_summarised(self) -> bool:
        return not self._is_exact or not self._is_announced_exactly

    def change(self, added: Iterable[bytes], removed: Iterable[bytes], *, is_whole: bool) -> None:
        if is_whole:
            whole = set(added)
            added, removed = whole - self._content.keys(), [each for each in self._content if each not in whole]
        for encoded in removed:
            del self._content[encoded]
            self._size -= len(encoded)
            self._changed[encoded] = None
        for encoded in added:
            self._content[encoded] = filter_from_bytes(encoded)
            self._size += len(encoded)
            self._changed[encoded] = None

    def take_changes(self) -> FilterChange:
        """Return the changes to announce and mark them as sent."""
        was_exact, self._is_announced_exactly = self._is_announced_exactly, self._is_exact and not self._is_large()
        new = self._content if self._is_announced_exactly else self._summarised()
        changed: Iterable[bytes] = (
            self._changed if was_exact and self._is_announced_exactly else {**self.announced, **new}
        )
        added = {each: new[each] for each in changed if each in new and each not in self.announced}
        removed = [self.announced.pop(each) for each in changed if each in self.announced and each not in new]
        self.announced.update(added)
        self._changed = {}
        return FilterChange(list(added.values()), removed)

    def _is_large(self) -> bool:
        return len(self._content) > MAX_SUMMARY_FILTERS or self._size > MAX_SUMMARY_BYTES

    def _summarised(self) -> dict[bytes, Filter]:
        """Return the summary of the content; everything if it is too large."""
        content = Predicate(self._content.values())
        summarised = {filter_to_bytes(filter): canonical_filter(filter) for filter in self._summary(content)}
        if len(summarised) > MAX_SUMMARY_FILTERS or sum(map(len, summarised)) > MAX_SUMMARY_BYTES:
            log(logging.WARNING, "summary too large", network=self._network, filters=len(summarised))
            return {filter_to_bytes(filter): filter for filter in summary("all")(content)}
        return summarised


class Outside:
    """The subscriptions and offers of one domain, as announced to the others."""

    def __init__(self, network: str, outside: str) -> None:
        """Initialise empty; outside: the kind of summary."""
        self.sequence = 0  # of the last change
        self._kinds = (_Kind(network, outside), _Kind(network, outside))
        self._is_changed = False
        self._due = float("-inf")  # time of the next summary

    def change(self, change: ExportChange) -> None:
        """Record a change."""
        self.sequence = change.sequence
        self._is_changed = True
        for kind, (added, removed) in zip(self._kinds, change.differences, strict=True):
            kind.change(added, removed, is_whole=change.is_whole)

    def is_due(self, now: float) -> bool:
        """Return whether there are changes to announce now."""
        return self._is_changed and (now >= self._due or not any(kind.is_summarised for kind in self._kinds))

    def take_changes(self, now: float) -> tuple[FilterChange, FilterChange]:
        """Return the changes to announce, of subscriptions and of offers, and mark them as sent."""
        self._is_changed = False
        subscriptions, offers = (kind.take_changes() for kind in self._kinds)
        if any(kind.is_summarised for kind in self._kinds):
            self._due = now + sum(map(len, self._kinds)) / _FILTERS_PER_SECOND
        return subscriptions, offers

    @property
    def announced(self) -> tuple[FilterChange, FilterChange]:
        """Everything announced to the others so far."""
        subscriptions, offers = (FilterChange(list(kind.announced.values()), ()) for kind in self._kinds)
        return subscriptions, offers
