"""Publishing: how is a message that a client was given said in a frame? Checked here, where its mistakes are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from cbnet.errors import InputError, LimitError, ValueDomainError
from cbnet.language.message import Message
from cbnet.language.values import RESERVED_NAME
from cbnet.network.protocol.fields import MAX_ATTRIBUTES, MAX_PAYLOAD_BYTES, MAX_TAGS, Attributes, Tags
from cbnet.network.protocol.frames import Frame, Publish, Trace
from cbnet.network.protocol.wire import LENGTH_BYTES, MAX_CLIENT_FRAME_BYTES, encode

MessageLike: TypeAlias = Message | Mapping[str, Any]
_NO_TAGS: list[str] = []


def message_content(message: MessageLike) -> tuple[dict[str, Any], list[str]]:
    """Return the attributes and tags of a message; an `InputError` if it is none."""
    if type(message) is dict and RESERVED_NAME not in message:
        try:
            return msgspec.convert(message, Attributes), _NO_TAGS  # 10 times as fast as what follows
        except msgspec.ValidationError:
            pass  # what is wrong is said below
    whole = Message.of(message)
    for what, count, most in (
        ("attributes", len(whole.attributes), MAX_ATTRIBUTES),
        ("tags", len(whole.tags), MAX_TAGS),
    ):
        if count > most:
            raise LimitError(f"the {what} of a message", count, most)
    tags: Tags = sorted(whole.tags)
    return dict(whole.attributes), tags


def encode_publish(number: int, message: MessageLike, payload: bytes, *, wants_answer: bool) -> bytes:
    """Return the bytes of the frame that publishes a message."""
    attributes, tags = message_content(message)
    return encode_checked(Publish(number, attributes, tags, check_payload(payload), wants_answer), message)


def encode_trace(
    number: int, message: MessageLike, payload: bytes, *, is_dry: bool, predicate: str, at: str
) -> bytes:  # fmt: skip
    """Return the bytes of the frame that asks what happens to a message."""
    attributes, tags = message_content(message)
    return encode_checked(Trace(number, attributes, tags, check_payload(payload), is_dry, predicate, at), message)


def check_payload(payload: object) -> bytes:
    """Return the payload of a message, or say why it cannot be one."""
    if not isinstance(payload, bytes | bytearray | memoryview):
        raise ValueDomainError("the payload must be bytes", hint="encode it, such as text.encode()")
    plain = bytes(payload)
    if len(plain) > MAX_PAYLOAD_BYTES:
        raise LimitError("bytes of a payload", len(plain), MAX_PAYLOAD_BYTES)
    return plain


def encode_checked(frame: Frame, message: MessageLike) -> bytes:
    """Return the bytes of a frame with a message, or say why it cannot be sent."""
    try:
        data = encode(frame)
    except UnicodeEncodeError:  # half of a surrogate pair
        Message.of(message)
        raise InputError("the message cannot be written") from None
    if len(data) - LENGTH_BYTES > MAX_CLIENT_FRAME_BYTES:
        raise LimitError("bytes of a message", len(data), MAX_CLIENT_FRAME_BYTES)
    return data
