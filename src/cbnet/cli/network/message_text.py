"""Messages, payloads and items as text: `price=3 '#sale'` on a command line, JSON in files, one line for people.

An attribute is written as in a predicate, with or without blanks around `=`, and its value as in JSON. A payload is
bytes; in JSON it is a string, in base64 if it is not UTF-8. A file of items has messages with payloads, as
`cbnet sub --json` prints them:

    {"message": {"symbol": "A", "price": 3, "#": ["quote"]}, "payload": "any text"}

`encoding` may be `base64`; `keep` is the time in seconds for which routers may cache the item. Other members are
ignored.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from cbnet.cli.console import printable
from cbnet.errors import FileError, InputError
from cbnet.files import read_bytes
from cbnet.language import Message
from cbnet.language.roles import filter_of
from cbnet.matching.files.message_files import message_from_line
from cbnet.network.client.async_pull import Item

_HINT = "write name=value or '#tag'"
_ERROR_MEMBERS = {"error", "line", "column", "hint"}  # of an error that a command prints with --json
_QUOTED_NAME = re.compile(r'("(?:[^"\\]|\\.)*")\s*=(.*)', re.DOTALL)


def parse_message(words: Sequence[str]) -> Message:
    """Return the message of words such as `price=3`, `dest = "MXP"` and `#tag`, or of one word that is JSON."""
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return message_from_json(words[0].encode("utf-8", "surrogateescape"))
    attributes: dict[str, Any] = {}
    tags: list[str] = []
    for word in map(str.strip, words):
        if word.startswith("#") and len(word) > 1:
            tags.append(_tag(word[1:]))
            continue
        name, value = _attribute(word)
        if name in attributes:
            raise InputError(f"the attribute {name!r} is given twice", hint=f"write {name}=[1, 2] for several values")
        attributes[name] = value
    return Message(attributes, tags)


def message_from_json(text: bytes) -> Message:
    """Return the message of one line of JSON."""
    found = message_from_line(text)
    if found is None:
        raise InputError("the message is empty", hint=_HINT)
    if isinstance(found, InputError):
        raise found
    return found


def _attribute(word: str) -> tuple[str, Any]:
    quoted = _QUOTED_NAME.fullmatch(word)
    name, equals, text = (json.loads(quoted[1]), "=", quoted[2]) if quoted else word.partition("=")
    name = name if quoted else name.rstrip()
    if not equals or not name:
        raise InputError(f"{word!r} is neither an attribute nor a tag", hint=_HINT)
    if not quoted and (name[-1] in "<>!^$*" or text.startswith("=")):
        raise InputError(f"{word!r} is a condition, and a message has values", hint=_HINT)
    value = _value(text.strip())
    if isinstance(value, str) and value == text.strip() and value.startswith(("{", "[")):
        hint = f"correct it, or quote a text: {name}='{json.dumps(value, ensure_ascii=False)}'"
        raise InputError(f"the value of {name!r} begins as JSON and is not JSON", hint=hint)
    return name, value


def _tag(text: str) -> str:
    """Return a tag, which may be quoted as in predicates."""
    value = _value(text)
    return value if isinstance(value, str) else text


def _value(text: str) -> Any:
    """Return the value of a JSON text; any other text is a string."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text


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


def message_line(message: dict[str, Any], payload: bytes) -> str:
    """Return a message and its payload as a line for people."""
    text = printable(str(Message.from_dict(message))) or "(empty message)"
    shown = printable(payload_members(payload)["payload"])
    return f"{text}  {shown}" if shown else text


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
