"""Item files: messages with payloads, as `cbnet sub --json` prints them.

    {"message": {"symbol": "A", "price": 3, "#": ["quote"]}, "payload": "any text"}

`encoding` may be `base64`; `keep` is the time in seconds for which routers may cache the item. Other members are
ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from cbnet.errors import FileError, InputError
from cbnet.files import read_bytes
from cbnet.language import Message
from cbnet.language.roles import filter_of
from cbnet.network.client.async_pull import Item
from cbnet.network.client.message_text import message_from_json, payload_from_members

_ERROR_MEMBERS = {"error", "line", "column", "hint"}  # of an error that a command prints with --json


def read_items(path: Path) -> list[Item]:
    """Return the items of a file; its errors are reported together."""
    lines = read_bytes(path).removeprefix(b"\xef\xbb\xbf").split(b"\n")
    items: list[Item] = []
    errors: list[InputError] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                items.append(_item(line))
            except InputError as error:
                errors.append(error.at(file=str(path), line=number))
    if errors:
        raise FileError(str(path), errors)
    return items


def first_item(items: Sequence[Item], request: Message) -> Item | None:
    """Return the first item that matches a request."""
    filter = filter_of(request)
    return next((item for item in items if filter.matches(item.message)), None)


def message_and_payload(line: bytes) -> tuple[Message, bytes]:
    """Return the message of a line of JSON, and its payload if the line is an item that has one.

    A line with an object as its member `message` and without `payload` is a message in which objects are nested. An
    error that a command printed among its messages is an error here too.
    """
    if b'"message"' in line and b'"payload"' in line:
        try:
            members = _members(line)
        except InputError:
            members = {}  # reading the line as a message names the column of the mistake
        if "payload" in members and members.get("message", b"").startswith(b"{"):
            item = _item(line)
            return Message.of(item.message), item.payload
    message = message_from_json(line)
    if message.attributes.keys() == _ERROR_MEMBERS:
        raise InputError(f"reported by the sender: {message.attributes['error']}")
    return message, b""


def _item(line: bytes) -> Item:
    members = _members(line)
    text = members.pop("message", b"")
    if not text.startswith(b"{"):
        raise InputError("the item has no message", hint='write {"message": {"name": "value"}, "payload": "text"}')
    others = {name: msgspec.json.decode(member) for name, member in members.items()}
    keep = others.get("keep")
    if keep is not None and (type(keep) not in (int, float) or not 0 <= keep <= 1e12):
        raise InputError(f"keep must be a number of seconds, not {keep!r}", hint="use 0 for no caching")
    try:
        message = message_from_json(text)
    except InputError as error:
        start = len(line[: line.index(text)].decode())  # the column is that of the line
        raise error.at(column=start + (error.column or 1)) from None
    return Item(message, payload_from_members(others), keep)


def _members(line: bytes) -> dict[str, bytes]:
    """Return the members of a JSON object, each as JSON text."""
    try:
        raw = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        return {name: bytes(member).strip() for name, member in raw.items()}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"not a JSON object: {error}") from None
