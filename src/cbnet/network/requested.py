"""Requested: how does a request travel? As the filter that its replies must match, in the one form that filters have.

    symbol = "A" and #quote        [["symbol", 0, "A"], "quote"]       MessagePack, as in `filters`

A request holds tags and equality constraints only, so the filter is the message too that offers are matched with
[2014 §2]. Equal requests are equal bytes: by these a cache knows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from cbnet.errors import InputError
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.parser import parse_filter
from cbnet.language.roles import filter_of, request_of
from cbnet.network.content import Content
from cbnet.network.filters import filter_from_bytes, filter_to_bytes
from cbnet.network.frames import Attributes, Tags
from cbnet.network.wire import WireError

RequestLike: TypeAlias = str | Filter | Message | Mapping[str, Any]
_REMEMBERED = 1_024  # requests that need not be read again: a router meets the same ones often


class Requested(NamedTuple):
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
    """Return the bytes of a request; an error if they are too many."""
    return filter_to_bytes(filter_of(request))


@lru_cache(_REMEMBERED)
def request_from_bytes(written: bytes) -> Requested:
    """Return the request that was written."""
    filter = filter_from_bytes(written)
    try:
        message = request_of(filter)
    except InputError as error:
        raise WireError(f"not a request: {error}") from None
    return Requested(filter, Content(_Said(dict(message.attributes), sorted(message.tags))))
