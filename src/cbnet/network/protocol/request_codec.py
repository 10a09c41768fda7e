"""Requests: how does a request travel? As the filter that its replies must match, in the one form that filters have.

    symbol = "A" and #quote        [["symbol", 0, "A"], "quote"]       MessagePack, as in `filters`

A request holds tags and equality constraints only, so the filter is the message too that offers are matched with
[2014 §2]. Equal requests are equal bytes: by these a cache knows them. Every router on the way reads a request, so a
long one is refused: it takes at most 1 ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import msgspec

from cbnet.errors import InputError, LimitError
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.roles import filter_of, request_of
from cbnet.language.syntax.parser import parse_filter
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.fields import MAX_REQUEST_BYTES, MAX_REQUEST_TERMS, Attributes, Tags
from cbnet.network.protocol.filter_codec import filter_from_bytes, filter_to_bytes
from cbnet.network.protocol.wire import WireError

RequestLike: TypeAlias = str | Filter | Message | Mapping[str, Any]
_REMEMBERED = 1_024  # requests that need not be read again, as a router meets the same ones often
_SHORT = 256  # bytes of those that are remembered
_terms = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode


class DecodedRequest(NamedTuple):
    """A request that was read."""

    filter: Filter  # what a reply must match
    content: Content  # what an offer must match


class _Said(NamedTuple):
    attributes: Attributes
    tags: Tags


def as_request(said: RequestLike) -> Message:
    """Return a request that is said as text, as a filter or as a message; an `InputError` if it is none."""
    if isinstance(said, str):
        said = parse_filter(said)
    return request_of(said) if isinstance(said, Filter) else Message.of(said)


def request_to_bytes(request: Message) -> bytes:
    """Return the bytes of a request; an error if it is too long."""
    written = filter_to_bytes(filter_of(request))
    for what, count, limit in (
        ("values and tags of a request", len(request.attributes) + len(request.tags), MAX_REQUEST_TERMS),
        ("bytes of a request", len(written), MAX_REQUEST_BYTES),
    ):
        if count > limit:
            raise LimitError(what, count, limit)
    return written


def request_from_bytes(written: bytes) -> DecodedRequest:
    """Return the request that was written."""
    return _remembered(written) if len(written) <= _SHORT else _read(written)


def _read(written: bytes) -> DecodedRequest:
    try:
        count = len(_terms(written))
    except msgspec.DecodeError as error:
        raise WireError(f"not a request: {error}") from None
    if count > MAX_REQUEST_TERMS:
        raise WireError(f"a request of {count:,} values and tags; at most {MAX_REQUEST_TERMS} are allowed")
    filter = filter_from_bytes(written)
    try:
        message = request_of(filter)
    except InputError as error:
        raise WireError(f"not a request: {error}") from None
    return DecodedRequest(filter, Content(_Said(dict(message.attributes), sorted(message.tags))))


_remembered = lru_cache(_REMEMBERED)(_read)
