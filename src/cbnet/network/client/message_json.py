"""Messages, deliveries, items and replies as JSON, in commands and over HTTP:

    {"message": {"symbol": "A", "price": 3, "#": ["quote"]}, "payload": "any text"}

A payload is bytes; in JSON it is a string, in base64 if it is not UTF-8: `encoding` is then `base64`. `keep` is the
time in seconds for which routers may cache an item. Other members are ignored. The JSON that one command prints is
what another reads.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any, Final, TypeVar

from cbnet._kernels.json_values import json_values
from cbnet.errors import InputError, LimitError
from cbnet.language.message import Message
from cbnet.matching.files.message_files import json_members, message_from_line
from cbnet.network.client.async_pull import MAX_KEEP, Item, Reply
from cbnet.network.client.async_subscription import Delivery, DurableDelivery
from cbnet.network.client.durable.durable_messages import PeekedMessage
from cbnet.network.protocol.fields import MAX_TAGS, MAX_VALUES
from cbnet.network.protocol.frames import json_of

T = TypeVar("T")
_ERROR_MEMBERS = {"error", "line", "column", "hint"}  # of an error that a command prints with --json
_MAX_ITEM_VALUES: Final = MAX_VALUES + MAX_TAGS + 64  # of a message, its tags, and the members beside it
_MAX_LOCATED: Final = 1 << 12  # bytes of a text that is read again, in up to 15 ms, for the column of its mistake


def check_values(text: bytes, most: int = _MAX_ITEM_VALUES) -> None:
    """Raise a `LimitError` if a JSON text, which has not been read yet, has too many values."""
    count = json_values(text, most)
    if count > most:
        raise LimitError("values in a JSON text", count, most, hint=f"a message has at most {MAX_VALUES:,}")


def object_from_json(text: bytes, most: int = _MAX_ITEM_VALUES) -> dict[str, Any]:
    """Return the members of a JSON object; raise a `LimitError` if it has more than `most` values."""
    check_values(text, most)
    return json_members(text)


def message_from_json(text: bytes) -> Message:
    """Return the message of one line of JSON."""
    return _read(text, Message.from_dict)


def delivery_members(delivery: Delivery) -> dict[str, Any]:
    """Return the members of a JSON object for a received message."""
    members: dict[str, Any] = {
        "message": delivery.message,
        **payload_members(delivery.payload),
        "source": delivery.source,
    }
    if isinstance(delivery, DurableDelivery | PeekedMessage):
        members |= {"offset": delivery.offset, "deliveries": delivery.deliveries}
    return members


def reply_members(reply: Reply, *, is_traced: bool) -> dict[str, Any]:
    """Return the members of a JSON object for a reply."""
    about = {"holder": reply.holder, "cache": reply.cache or None, "age": reply.age, "asked": reply.asked}
    steps = {"steps": json_of(reply.steps)} if is_traced else {}
    return {"message": reply.message, **payload_members(reply.payload), **about, **steps}


def payload_members(payload: bytes) -> dict[str, str]:
    """Return the members `payload` and, if it is not UTF-8, `encoding` of a JSON object."""
    try:
        return {"payload": payload.decode()}
    except UnicodeDecodeError:
        return {"payload": base64.b64encode(payload).decode(), "encoding": "base64"}


def payload_from_members(members: dict[str, Any]) -> bytes:
    """Return the payload of a JSON object; empty if it has none."""
    text, encoding = members.get("payload", ""), members.get("encoding", "utf-8")
    if not isinstance(text, str) or encoding not in ("utf-8", "base64"):
        raise InputError("the payload is not a string", hint='write "payload": "…", and "encoding": "base64" for bytes')
    try:
        return base64.b64decode(text, validate=True) if encoding == "base64" else text.encode()
    except (binascii.Error, UnicodeEncodeError):
        raise InputError("the payload cannot be decoded", hint="write it as UTF-8 or in base64") from None


def keep_from_members(members: dict[str, Any]) -> float | None:
    """Return the seconds for which routers may cache the item of a JSON object; None: no limit."""
    keep = members.get("keep")
    if keep is not None and (type(keep) not in (int, float) or not 0 <= keep <= MAX_KEEP):
        raise InputError(f"keep must be a number of seconds, not {keep!r}", hint="use 0 for no caching")
    return keep


def message_and_payload(line: bytes) -> tuple[Message, bytes]:
    """Return the message of a line of JSON, and its payload if the line is an item that has one.

    A line whose member `message` is an object, without a `payload`, is a message with nested objects. An error that a
    command printed among its messages is an error here too.
    """
    return _read(line, _message_and_payload)


def item_from_json(line: bytes) -> Item:
    """Return the item of a JSON object: a message, and the payload that it may have."""
    return _read(line, _item)


def _message_and_payload(members: dict[str, Any]) -> tuple[Message, bytes]:
    if "payload" in members and isinstance(members.get("message"), dict):
        return Message.from_dict(members["message"]), payload_from_members(members)
    if members.keys() == _ERROR_MEMBERS:
        raise InputError(f"reported by the sender: {members['error']}")
    return Message.from_dict(members), b""


def _item(members: dict[str, Any]) -> Item:
    message = members.get("message")
    if not isinstance(message, dict):
        raise InputError("the item has no message", hint='write {"message": {"name": "value"}, "payload": "text"}')
    return Item(Message.from_dict(message), payload_from_members(members), keep_from_members(members))


def _read(text: bytes, build: Callable[[dict[str, Any]], T]) -> T:
    """Return what is built from the members of a JSON object; the error of a short text has its column."""
    try:
        return build(object_from_json(text))
    except InputError:
        if len(text) > _MAX_LOCATED and text.strip():
            raise
    found = message_from_line(text)
    if found is None:
        raise InputError("the message is empty", hint='write {"name": "value"}')
    if isinstance(found, InputError):
        raise found
    return build(found.to_dict())
