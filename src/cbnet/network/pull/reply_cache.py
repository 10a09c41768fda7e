"""Cache of the replies that have passed this router, to answer equal requests [2014 §2].

Least recently used replies are evicted:

    size    `cache_bytes` of memory; 0: no cache
    age     `cache_age` seconds since a holder replied, or less if the holder limits it; 0: no cache

A reply is stored as its bytes on the wire: as an object it would take up to six times as much memory. Its age is
carried from cache to cache. Time on links is not counted; time while the process was suspended is.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Event
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import ReplyFrame

ENTRY_BYTES = 400  # overhead per reply: 270 to 400 were measured
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(ReplyFrame).decode


class _Entry(NamedTuple):
    encoded: bytes
    born: float  # time of the holder's reply
    until: float  # time of expiry


class ReplyCache:
    """The cached replies of one router."""

    def __init__(self, context: RouterContext) -> None:
        self._context = context
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()  # by request; most recently used last
        self.size = 0  # bytes

    @property
    def _settings(self) -> Settings:
        return self._context.settings

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, request: bytes) -> ReplyFrame | None:
        """Return the cached reply to a request, with its current age; None if there is none."""
        if not self._settings.cache_bytes:
            return None
        entry = self._entries.get(request)
        if entry is not None and entry.until <= self._context.clock.elapsed:
            self._remove(request)
            self._context.counters[Event.CACHE_EXPIRED] += 1
            entry = None
        if entry is None:
            self._context.counters[Event.CACHE_MISSES] += 1
            return None
        self._context.counters[Event.CACHE_HITS] += 1
        self._entries.move_to_end(request)
        return replace(_decode(entry.encoded), age=round((self._context.clock.elapsed - entry.born) * 1000))

    def put(self, reply: ReplyFrame) -> None:
        """Cache a reply, if allowed, and replace an older one to the same request."""
        born = self._context.clock.elapsed - reply.age / 1000
        present = self._entries.get(reply.request)
        if present is not None:
            if present.born > born:
                return
            self._remove(reply.request)
        until = born + self._lifetime(reply)
        if not self._settings.cache_bytes or until <= self._context.clock.elapsed:
            return
        entry = _Entry(_encode(replace(reply, steps=None)), born, until)
        if _size(reply.request, entry) <= self._settings.cache_bytes:
            self._entries[reply.request] = entry
            self.size += _size(reply.request, entry)
            self.evict()

    def evict(self) -> None:
        """Remove the least recently used replies until the others fit."""
        while self.size > self._settings.cache_bytes:
            self._remove(next(iter(self._entries)))
            self._context.counters[Event.CACHE_EVICTIONS] += 1

    def _lifetime(self, reply: ReplyFrame) -> float:
        return self._settings.cache_age if reply.keep is None else min(self._settings.cache_age, reply.keep / 1000)

    def _remove(self, request: bytes) -> None:
        self.size -= _size(request, self._entries.pop(request))


def _size(request: bytes, entry: _Entry) -> int:
    return ENTRY_BYTES + len(request) + len(entry.encoded)
