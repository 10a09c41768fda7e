"""Item files: messages with payloads, as `cbnet sub --json` prints them.

    {"message": {"symbol": "A", "price": 3, "#": ["quote"]}, "payload": "any text"}

`encoding` may be `base64`; `keep` is the time in seconds for which routers may cache the item. Other members are
ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from cbnet.errors import FileError, InputError
from cbnet.files import read_bytes
from cbnet.language import Message
from cbnet.language.roles import filter_of
from cbnet.network.client.async_pull import Item
from cbnet.network.client.message_text import message_from_json, payload_from_members


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
    """Return the message of a line of JSON, and its payload if the line is an item."""
    if b'"message"' in line and isinstance(_members(line).get("message"), dict):
        message, payload, _ = _item(line)
        return (message if isinstance(message, Message) else Message.from_dict(message)), payload
    return message_from_json(line), b""


def _item(line: bytes) -> Item:
    members = _members(line)
    if not isinstance(members.get("message"), dict):
        raise InputError("the item has no message", hint='write {"message": {"name": "value"}, "payload": "text"}')
    keep = members.get("keep")
    if keep is not None and (type(keep) not in (int, float) or not 0 <= keep <= 1e12):
        raise InputError(f"keep must be a number of seconds, not {keep!r}", hint="use 0 for no caching")
    return Item(Message.from_dict(members["message"]), payload_from_members(members), keep)


def _members(line: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"not a JSON object: {error}") from None
