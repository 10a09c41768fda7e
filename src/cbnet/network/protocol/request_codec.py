"""Encoding of requests: the filter that replies must match, in the canonical form of filters.

    symbol = "A" and #quote        [["symbol", 0, "A"], "quote"]       MessagePack, as in `byte_form`

A request has tags and equality constraints only, each attribute once, so the filter is also the message that is
matched with offers [2014 §2]. Equal requests are equal bytes, which are the keys of caches. Every router on the path
decodes a request, so long ones are refused: decoding takes at most 1 ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import msgspec

from cbnet.errors import InputError, LimitError
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.predicate import Limits
from cbnet.language.roles import filter_of, request_of
from cbnet.language.syntax.byte_form import filter_from_bytes, filter_to_bytes
from cbnet.language.syntax.parser import parse_filter
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.fields import MAX_REQUEST_BYTES, MAX_REQUEST_TERMS, Attributes, Tags
from cbnet.network.protocol.wire import WireError

RequestLike: TypeAlias = str | Filter | Message | Mapping[str, Any]
_TEXT_LIMITS = Limits(length=4 * MAX_REQUEST_BYTES)
_CACHE_SIZE = 1_024  # decoded requests: a router receives the same ones often
_MAX_CACHED_BYTES = 256  # of one request
_terms = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode


class DecodedRequest(NamedTuple):
    """A request as a filter and as a message."""

    filter: Filter  # what a reply must match
    content: Content  # what an offer must match


class _Fields(NamedTuple):
    attributes: Attributes
    tags: Tags


def as_request(request: RequestLike) -> Message:
    """Return a request given as text, filter or message; raise an `InputError` if it is invalid."""
    if isinstance(request, str):
        request = parse_filter(request, _TEXT_LIMITS)
    return request_of(request) if isinstance(request, Filter) else Message.of(request)


def request_to_bytes(request: Message) -> bytes:
    """Encode a request; raise a `LimitError` if it is too long."""
    terms = sum(map(len, request.leaves.values())) + len(request.tags)
    if terms > MAX_REQUEST_TERMS:
        raise LimitError("values and tags of a request", terms, MAX_REQUEST_TERMS)
    encoded = filter_to_bytes(filter_of(request))
    if len(encoded) > MAX_REQUEST_BYTES:
        raise LimitError("bytes of a request", len(encoded), MAX_REQUEST_BYTES)
    return encoded


def request_from_bytes(encoded: bytes) -> DecodedRequest:
    """Decode a request; raise a `WireError` if it is invalid."""
    return _decode_cached(encoded) if len(encoded) <= _MAX_CACHED_BYTES else _decode(encoded)


def _decode(encoded: bytes) -> DecodedRequest:
    try:
        count = len(_terms(encoded))
    except msgspec.DecodeError as error:
        raise WireError(f"invalid request: {error}") from None
    if count > MAX_REQUEST_TERMS:
        raise WireError(f"a request of {count:,} values and tags; at most {MAX_REQUEST_TERMS} are allowed")
    try:
        filter = filter_from_bytes(encoded)
        message = request_of(filter)
    except InputError as error:
        raise WireError(f"invalid request: {error.summary}") from None
    return DecodedRequest(filter, Content(_Fields(dict(message.attributes), sorted(message.tags))))


_decode_cached = lru_cache(_CACHE_SIZE)(_decode)
