"""Encoding and validation of the messages that a client sends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from cbnet.errors import InputError, LimitError, ValueDomainError
from cbnet.language.message import Message
from cbnet.language.values import RESERVED_NAME
from cbnet.network.protocol.fields import MAX_PAYLOAD_BYTES, MAX_TAGS, MAX_VALUES, FlatAttributes, Tags
from cbnet.network.protocol.frames import Frame, Publish, Trace
from cbnet.network.protocol.nested_values import check_nested
from cbnet.network.protocol.wire import LENGTH_BYTES, MAX_CLIENT_FRAME_BYTES, encode

MessageLike: TypeAlias = Message | Mapping[str, Any]
_NO_TAGS: list[str] = []


def message_content(message: MessageLike) -> tuple[dict[str, Any], list[str]]:
    """Return the attributes and tags of a message; raise an `InputError` if it is invalid."""
    if type(message) is dict and RESERVED_NAME not in message:
        try:
            return msgspec.convert(message, FlatAttributes), _NO_TAGS  # 10 times as fast as the general case
        except msgspec.ValidationError:
            pass  # `Message.of` names the problem
    whole = Message.of(message)
    for name, count, maximum in (
        ("values", len(whole.attributes), MAX_VALUES),
        ("tags", len(whole.tags), MAX_TAGS),
    ):
        if count > maximum:
            raise LimitError(f"the {name} of a message", count, maximum)
    check_nested(whole.attributes)
    tags: Tags = sorted(whole.tags)
    return dict(whole.attributes), tags


def encode_publish(number: int, message: MessageLike, payload: bytes, *, wants_answer: bool) -> bytes:
    """Encode a `Publish` frame."""
    attributes, tags = message_content(message)
    return encode_checked(Publish(number, attributes, tags, check_payload(payload), wants_answer), message)


def encode_trace(
    number: int, message: MessageLike, payload: bytes, *, is_dry: bool, predicate: str, at: str
) -> bytes:  # fmt: skip
    """Encode a `Trace` frame."""
    attributes, tags = message_content(message)
    return encode_checked(
        Trace(
            number=number,
            attributes=attributes,
            tags=tags,
            payload=check_payload(payload),
            is_dry=is_dry,
            predicate=predicate,
            at=at,
        ),
        message,
    )


def check_payload(payload: object) -> bytes:
    """Return a payload as bytes; raise an error if it is invalid."""
    if not isinstance(payload, bytes | bytearray | memoryview):
        raise ValueDomainError("the payload must be bytes", hint="encode it, such as text.encode()")
    plain = bytes(payload)
    if len(plain) > MAX_PAYLOAD_BYTES:
        raise LimitError("bytes of a payload", len(plain), MAX_PAYLOAD_BYTES)
    return plain


def encode_checked(frame: Frame, message: MessageLike) -> bytes:
    """Encode a frame that carries a message; raise an error if it is too long."""
    try:
        data = encode(frame)
    except UnicodeEncodeError:  # half of a surrogate pair
        Message.of(message)
        raise InputError("the message is not valid UTF-8") from None
    if len(data) - LENGTH_BYTES > MAX_CLIENT_FRAME_BYTES:
        raise LimitError("bytes of a message", len(data), MAX_CLIENT_FRAME_BYTES)
    return data
