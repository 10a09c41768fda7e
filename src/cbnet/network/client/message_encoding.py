"""Encoding and validation of the messages that a client sends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from cbnet._kernels.publish_frame import publish_frame, publish_frames
from cbnet.errors import InputError, LimitError, ValueDomainError
from cbnet.language.message import Message
from cbnet.language.values import RESERVED_NAME
from cbnet.network.protocol.content import check_nested
from cbnet.network.protocol.fields import MAX_PAYLOAD_BYTES, MAX_TAGS, MAX_VALUES, FlatAttributes, Tags
from cbnet.network.protocol.frames import Frame, Publish
from cbnet.network.protocol.wire import LENGTH_BYTES, MAX_CLIENT_FRAME_BYTES, encode

MessageLike: TypeAlias = Message | Mapping[str, Any]
_NO_TAGS: list[str] = []
_CHUNK: Final = 1 << 16  # bytes of frames that are sent at once


class FrameChunk(NamedTuple):
    """Some frames of a batch of messages."""

    data: bytes
    end: int  # number of messages of the batch up to its last frame


def message_content(message: MessageLike) -> tuple[dict[str, Any], list[str]]:
    """Return the attributes and tags of a message; raise an `InputError` if it is invalid."""
    if type(message) is dict and RESERVED_NAME not in message:
        try:
            return msgspec.convert(message, FlatAttributes), _NO_TAGS  # 10 times as fast as the general case
        except msgspec.ValidationError:
            pass  # `Message.of` names the problem
    whole = checked_message(Message.of(message))
    tags: Tags = sorted(whole.tags)
    return dict(whole.attributes), tags


def checked_message(message: Message) -> Message:
    """Return a message; raise a `LimitError` if it has too many values or tags, or too long names."""
    for name, count, maximum in (
        ("values", len(message.attributes), MAX_VALUES),
        ("tags", len(message.tags), MAX_TAGS),
    ):
        if count > maximum:
            raise LimitError(f"the {name} of a message", count, maximum)
    check_nested(message.attributes)
    return message


def encode_publish(number: int, message: MessageLike, payload: bytes, *, wants_answer: bool) -> bytes:
    """Encode a `Publish` frame."""
    frame = publish_frame(number, message, payload, wants_answer)
    if frame is not None:
        return frame
    attributes, tags = message_content(message)
    return encode_checked(Publish(number, attributes, tags, check_payload(payload), wants_answer), message)


def encode_batch(messages: Iterable[MessageLike], payloads: Iterable[bytes] | None) -> list[FrameChunk]:
    """Encode a `Publish` frame for each message; raise an `InputError` that names the first invalid one."""
    messages = [*messages]
    if payloads is not None:
        payloads = [*payloads]
        if len(payloads) != len(messages):
            raise InputError(
                f"{len(payloads)} payloads for {len(messages)} messages", hint="give one for each, or none"
            )
    chunks: list[FrameChunk] = []
    end = 0
    while end < len(messages):
        start = end
        data, end = publish_frames(messages, payloads, start, _CHUNK)
        if end == start:  # not plain
            data, end = _encode_indexed(messages, payloads, start), start + 1
        chunks.append(FrameChunk(data, end))
    return chunks


def _encode_indexed(messages: list[MessageLike], payloads: list[bytes] | None, index: int) -> bytes:
    try:
        return encode_publish(0, messages[index], b"" if payloads is None else payloads[index], wants_answer=False)
    except InputError as error:
        raise error.at(file=f"messages[{index}]") from None


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
