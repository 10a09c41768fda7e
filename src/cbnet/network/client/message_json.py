"""Messages, deliveries, items and replies as JSON, in commands and over HTTP:

    {"message": {"symbol": "A", "price": 3, "#": ["quote"]}, "payload": "any text"}

A payload is bytes; in JSON it is a string, in base64 if it is not UTF-8: `encoding` is then `base64`. `keep` is the
time in seconds for which routers may cache an item. Other members are ignored. The JSON that one command prints is
what another reads.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec

from cbnet.errors import InputError
from cbnet.language.message import Message
from cbnet.matching.files.message_files import message_from_line
from cbnet.network.client.async_pull import MAX_KEEP, Item, Reply
from cbnet.network.client.async_subscription import Delivery, DurableDelivery
from cbnet.network.protocol.frames import json_of

_ERROR_MEMBERS = {"error", "line", "column", "hint"}  # of an error that a command prints with --json


def message_from_json(text: bytes) -> Message:
    """Return the message of one line of JSON."""
    found = message_from_line(text)
    if found is None:
        raise InputError("the message is empty", hint='write {"name": "value"}')
    if isinstance(found, InputError):
        raise found
    return found


def delivery_members(delivery: Delivery) -> dict[str, Any]:
    """Return the members of a JSON object for a received message."""
    members: dict[str, Any] = {
        "message": delivery.message,
        **payload_members(delivery.payload),
        "source": delivery.source,
    }
    if isinstance(delivery, DurableDelivery):
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
    if b'"message"' in line and b'"payload"' in line:
        try:
            members = _members(line)
        except InputError:
            members = {}  # reading the line as a message names the column of the mistake
        if "payload" in members and members.get("message", b"").startswith(b"{"):
            item = item_from_json(line)
            return Message.of(item.message), item.payload
    message = message_from_json(line)
    if message.attributes.keys() == _ERROR_MEMBERS:
        raise InputError(f"reported by the sender: {message.attributes['error']}")
    return message, b""


def item_from_json(line: bytes) -> Item:
    """Return the item of a JSON object: a message, and the payload that it may have."""
    members = _members(line)
    text = members.pop("message", b"")
    if not text.startswith(b"{"):
        raise InputError("the item has no message", hint='write {"message": {"name": "value"}, "payload": "text"}')
    others = {name: msgspec.json.decode(member) for name, member in members.items()}
    try:
        message = message_from_json(text)
    except InputError as error:
        start = len(line[: line.index(text)].decode())  # the column is that of the line
        raise error.at(column=start + (error.column or 1)) from None
    return Item(message, payload_from_members(others), keep_from_members(others))


def _members(line: bytes) -> dict[str, bytes]:
    """Return the members of a JSON object, each as JSON text."""
    try:
        raw = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        return {name: bytes(member).strip() for name, member in raw.items()}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"not a JSON object: {error}") from None
