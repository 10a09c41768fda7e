"""Requests for records that this router lacks.

Several neighbours may have announced the same record. One is asked; another only if the first disconnects or does not
answer in time. After some attempts the request is given up: the owner renews its record, or it has expired everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cbnet.network.linkstate.records import Key, RecordKind, Version
from cbnet.network.protocol.fields import MAX_ROUTERS

_MAX_ATTEMPTS = 8
_MAX_REQUESTS = len(RecordKind) * MAX_ROUTERS


@dataclass
class _Request:
    version: Version
    sources: dict[int, Version] = field(default_factory=dict)  # by link; the one asked last is last
    asked: float | None = None  # time
    attempts: int = 0


class RecordRequests:
    """The records of which neighbours have newer versions."""

    def __init__(self, retry: float) -> None:
        self._retry = retry
        self._requests: dict[Key, _Request] = {}

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, link: int, key: Key, version: Version) -> None:
        """Record that a newer version is available over a link."""
        if key not in self._requests and len(self._requests) >= _MAX_REQUESTS:
            return
        request = self._requests.setdefault(key, _Request(version))
        request.version = max(request.version, version)
        request.sources[link] = max(request.sources.get(link, version), version)

    def postpone(self, key: Key, version: Version, now: float) -> None:
        """Restart the timeout of a request, of which a part was received."""
        request = self._requests.get(key)
        if request is not None and version >= request.version:
            request.asked = now

    def complete(self, key: Key, version: Version) -> None:
        """Remove the request for a version that was installed."""
        request = self._requests.get(key)
        if request is not None and version >= request.version:
            del self._requests[key]

    def remove_link(self, link: int) -> None:
        """Remove a link as a source: its records are requested from other neighbours that have them."""
        for key, request in list(self._requests.items()):
            if request.sources.pop(link, None) is not None:
                request.asked = None
                if not request.sources:
                    del self._requests[key]

    def due(self, now: float) -> Iterator[tuple[int, Key]]:
        """Yield the requests to send now: link and key."""
        for key, request in list(self._requests.items()):
            if request.asked is not None and now - request.asked < self._retry:
                continue
            if request.attempts == _MAX_ATTEMPTS:
                del self._requests[key]
                continue
            newest = max(request.sources.values())
            link = next(link for link, version in request.sources.items() if version == newest)
            request.sources[link] = request.sources.pop(link)
            request.asked = now
            request.attempts += 1
            yield link, key
