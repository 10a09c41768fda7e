"""RecordRequests: which records does this router lack, and whom does it ask for each?

Several neighbours may have told of the same record. One is asked; another only if that one goes away or
does not answer in time. After some attempts it is given up: its owner renews it, or it is gone everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cbnet.network.linkstate.records import Key, Version
from cbnet.network.protocol.fields import MAX_ROUTERS

_ATTEMPTS = 8
_MOST = 3 * MAX_ROUTERS  # as many as there are kinds of records


@dataclass
class _Want:
    version: Version
    sources: dict[int, Version] = field(default_factory=dict)  # link -> what is there; the one asked last stands last
    asked: float | None = None  # when
    attempts: int = 0


class RecordRequests:
    """The records that others are known to have in a newer version."""

    def __init__(self, retry: float) -> None:
        self._retry = retry
        self._wants: dict[Key, _Want] = {}

    def __len__(self) -> int:
        return len(self._wants)

    def heard(self, link: int, key: Key, version: Version) -> None:
        """Note that a newer version is to be had over a link."""
        if key not in self._wants and len(self._wants) >= _MOST:
            return
        want = self._wants.setdefault(key, _Want(version))
        want.version = max(want.version, version)
        want.sources[link] = max(want.sources.get(link, version), version)

    def coming(self, key: Key, version: Version, now: float) -> None:
        """Note that a part of a version came: if it is what is wanted, the rest is waited for."""
        want = self._wants.get(key)
        if want is not None and version >= want.version:
            want.asked = now

    def have(self, key: Key, version: Version) -> None:
        """Note that a version is here."""
        want = self._wants.get(key)
        if want is not None and version >= want.version:
            del self._wants[key]

    def closed(self, link: int) -> None:
        """Note that a link is gone: what was asked for over it is asked for elsewhere, if anybody else has it."""
        for key, want in list(self._wants.items()):
            if want.sources.pop(link, None) is not None:
                want.asked = None
                if not want.sources:
                    del self._wants[key]

    def due(self, now: float) -> Iterator[tuple[int, Key]]:
        """Yield over which link to ask for which record, now."""
        for key, want in list(self._wants.items()):
            if want.asked is not None and now - want.asked < self._retry:
                continue
            if want.attempts == _ATTEMPTS:
                del self._wants[key]
                continue
            link = next(link for link, version in want.sources.items() if version == max(want.sources.values()))
            want.sources[link] = want.sources.pop(link)
            want.asked = now
            want.attempts += 1
            yield link, key
