"""Requests for records that this router lacks.

Several neighbours may have announced the same record. One is asked; another only if the first disconnects or does not
answer in time. After several attempts the request is given up: the owner renews its record, or it has expired
everywhere.

If the record is accepted from its owner only, because that is a neighbour, only the owner is asked for it. If it has
not announced that version itself, it thereby learns of it: either its record is on the way, or the version is forged,
and the owner supersedes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import reduce

from cbnet.network.linkstate.records import RecordVersion, entry_of
from cbnet.network.protocol.fields import MAX_ROUTERS
from cbnet.network.protocol.frames import RecordEntry

_MAX_ATTEMPTS = 8  # without an answer
_MAX_REQUESTS = MAX_ROUTERS


@dataclass
class _Request:
    sources: dict[int, RecordVersion] = field(default_factory=dict)  # by link; the one asked last is last
    asked: float | None = None  # time
    asked_link: int | None = None
    attempts: int = 0


class RecordRequests:
    """Requests for the records of which neighbours have newer versions."""

    def __init__(self, retry: float) -> None:
        """Initialise; retry: seconds until an unanswered request is sent again."""
        self._retry = retry
        self._requests: dict[str, _Request] = {}  # by owner

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, link: int, owner: str, version: RecordVersion) -> bool:
        """Record that a newer version is available over a link; return whether there is room for the request."""
        if owner not in self._requests and len(self._requests) >= _MAX_REQUESTS:
            return False
        sources = self._requests.setdefault(owner, _Request()).sources
        sources[link] = _newer(sources.get(link, version), version)
        return True

    def complete(self, owner: str, version: RecordVersion) -> None:
        """Remove the request for a version that was received, and for older ones."""
        request = self._requests.get(owner)
        if request is not None:
            request.sources = {link: each for link, each in request.sources.items() if each.is_newer(version)}
            if not request.sources:
                del self._requests[owner]

    def remove_link(self, link: int) -> None:
        """Remove a link as a source: its records are requested from other neighbours that have them."""
        for owner, request in list(self._requests.items()):
            if request.sources.pop(link, None) is not None or request.asked_link == link:
                request.asked = None
                if not request.sources:
                    del self._requests[owner]

    def due(self, now: float, links_to: Callable[[str], Collection[int]]) -> Iterator[tuple[int, RecordEntry]]:
        """Yield links and entries of requests to send now.

        `links_to` returns the links to an owner from which alone its record is accepted.
        """
        for owner, request in list(self._requests.items()):
            if request.asked is not None and now - request.asked < self._retry:
                continue
            request.attempts += request.asked is not None and request.asked_link in request.sources
            if request.attempts == _MAX_ATTEMPTS:
                del self._requests[owner]
                continue
            newest = reduce(_newer, request.sources.values())
            sources = [link for link, version in request.sources.items() if version == newest]
            owner_links = links_to(owner)
            link = next(link for link in (*sources, *owner_links) if link in (owner_links or sources))
            if link in request.sources:
                request.sources[link] = request.sources.pop(link)
            request.asked, request.asked_link = now, link
            yield link, entry_of(owner, newest)


def _newer(one: RecordVersion, other: RecordVersion) -> RecordVersion:
    return other if other.is_newer(one) else one
