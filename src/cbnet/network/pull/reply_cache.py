"""Reply cache: which replies that have passed this router may answer the same request again? [2014 §2]

The replies that were used last, as many as there is room for, each until it is too old:

    room    `cache_bytes` of memory; 0: nothing is kept
    age     `cache_age` seconds since a holder gave the reply, or less if the holder says so; 0: nothing is kept

A reply is kept as the bytes that it travels in: as an object it would take up to six times as much. The age goes with
it from cache to cache. Time on links is not counted; that in which the process stood still is.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Event
from cbnet.network.protocol.frames import ReplyFrame

ENTRY_BYTES = 400  # that a reply takes beside its own: 270 to 400 were measured
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(ReplyFrame).decode


class _Kept(NamedTuple):
    written: bytes
    born: float  # when a holder gave it
    until: float  # when it is too old


class ReplyCache:
    """The replies that one router keeps."""

    def __init__(self, context: RouterContext) -> None:
        self._context = context
        self._most = context.settings.cache_bytes
        self._longest = context.settings.cache_age
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()  # by request; the one used last stands last
        self.size = 0  # bytes

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, request: bytes) -> ReplyFrame | None:
        """Return a reply to a request, with the age that it has now."""
        if not self._most:
            return None
        kept = self._kept.get(request)
        if kept is not None and kept.until <= self._context.clock.elapsed:
            self._forget(request)
            self._context.counters[Event.CACHE_EXPIRED] += 1
            kept = None
        if kept is None:
            self._context.counters[Event.CACHE_MISSES] += 1
            return None
        self._context.counters[Event.CACHE_HITS] += 1
        self._kept.move_to_end(request)
        return replace(_decode(kept.written), age=round((self._context.clock.elapsed - kept.born) * 1000))

    def put(self, reply: ReplyFrame) -> None:
        """Keep a reply, if it may be kept, in the place of an older one to the same request."""
        born = self._context.clock.elapsed - reply.age / 1000
        present = self._kept.get(reply.request)
        if present is not None:
            if present.born > born:
                return
            self._forget(reply.request)
        until = born + self._lasting(reply)
        if not self._most or until <= self._context.clock.elapsed:
            return
        kept = _Kept(_encode(replace(reply, steps=None)), born, until)
        if _size(reply.request, kept) <= self._most:
            self._kept[reply.request] = kept
            self.size += _size(reply.request, kept)
            while self.size > self._most:
                self._forget(next(iter(self._kept)))
                self._context.counters[Event.CACHE_EVICTIONS] += 1

    def _lasting(self, reply: ReplyFrame) -> float:
        return self._longest if reply.keep is None else min(self._longest, reply.keep / 1000)

    def _forget(self, request: bytes) -> None:
        self.size -= _size(request, self._kept.pop(request))


def _size(request: bytes, kept: _Kept) -> int:
    return ENTRY_BYTES + len(request) + len(kept.written)
