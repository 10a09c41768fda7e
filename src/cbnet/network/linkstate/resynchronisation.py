"""Requests for records that this router lacks.

Several neighbours may have announced the same record. One is asked; another only if the first disconnects or does not
answer in time. After several attempts the request is given up: the owner renews its record, or it has expired
everywhere.

If the owner is a neighbour, only the owner is asked for its record. If it has not announced that version itself, it is
notified of it: either its record is on the way, or the version is forged, and the owner supersedes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

from cbnet.network.linkstate.records import RecordVersion
from cbnet.network.protocol.fields import MAX_ROUTERS

_MAX_ATTEMPTS = 8
_MAX_REQUESTS = MAX_ROUTERS


@dataclass
class _Request:
    version: RecordVersion
    sources: dict[int, RecordVersion] = field(default_factory=dict)  # by link; the one asked last is last
    asked: float | None = None  # time
    asked_link: int | None = None
    attempts: int = 0


class DueRequest(NamedTuple):
    """A request to send now."""

    link: int
    owner: str
    version: RecordVersion
    is_report: bool  # report the version to the owner instead of requesting the record


class RecordRequests:
    """Requests for the records of which neighbours have newer versions."""

    def __init__(self, retry: float) -> None:
        self._retry = retry
        self._requests: dict[str, _Request] = {}  # by owner

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, link: int, owner: str, version: RecordVersion) -> None:
        """Record that a newer version is available over a link."""
        if owner not in self._requests and len(self._requests) >= _MAX_REQUESTS:
            return
        request = self._requests.setdefault(owner, _Request(version))
        request.version = _newer(request.version, version)
        request.sources[link] = _newer(request.sources.get(link, version), version)

    def complete(self, owner: str, version: RecordVersion) -> None:
        """Remove the request for a version that was installed."""
        request = self._requests.get(owner)
        if request is not None and not request.version.is_newer(version):
            del self._requests[owner]

    def remove_link(self, link: int) -> None:
        """Remove a link as a source: its records are requested from other neighbours that have them."""
        for owner, request in list(self._requests.items()):
            if request.sources.pop(link, None) is not None or request.asked_link == link:
                request.asked = None
                if not request.sources:
                    del self._requests[owner]

    def due(self, now: float, links_to: Callable[[str], Collection[int]]) -> Iterator[DueRequest]:
        """Yield the requests to send now; `links_to` returns the links to an owner that is a neighbour."""
        for owner, request in list(self._requests.items()):
            if request.asked is not None and now - request.asked < self._retry:
                continue
            if request.attempts == _MAX_ATTEMPTS:
                del self._requests[owner]
                continue
            due = _choose(owner, request, links_to(owner))
            if not due.is_report:
                request.sources[due.link] = request.sources.pop(due.link)
                request.attempts += 1
            request.asked, request.asked_link = now, due.link
            yield due


def _choose(owner: str, request: _Request, owner_links: Collection[int]) -> DueRequest:
    newest = reduce(_newer, request.sources.values())
    sources = [link for link, version in request.sources.items() if version == newest]
    if not owner_links:
        return DueRequest(sources[0], owner, newest, is_report=False)
    first_hand = [link for link in sources if link in owner_links]
    return DueRequest([*first_hand, *owner_links][0], owner, newest, is_report=not first_hand)


def _newer(one: RecordVersion, other: RecordVersion) -> RecordVersion:
    return other if other.is_newer(one) else one
