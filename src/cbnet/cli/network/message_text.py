"""Messages, payloads and items as text: `price=3 '#sale'` on a command line, JSON in files, one line for people.

An attribute is written as in a predicate, with or without blanks around `=`, and its value as in JSON. A payload is
bytes; `message_json` is their JSON.
"""

from __future__ import annotations

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
from cbnet.network.client.async_pull import Item
from cbnet.network.client.message_json import item_from_json, message_from_json, payload_members

_HINT = "write name=value or '#tag'"
_QUOTED_NAME = re.compile(r'("(?:[^"\\]|\\.)*")\s*=(.*)', re.DOTALL)


def parse_message(words: Sequence[str]) -> Message:
    """Return the message of words such as `price=3`, `dest = "MXP"` and `#tag`, or of one word that is JSON."""
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return message_from_json(words[0].encode("utf-8", "surrogateescape"))
    attributes: dict[str, Any] = {}
    tags: list[str] = []
    for word in map(str.strip, words):
        if word.startswith("#") and len(word) > 1:
            tag = _value(word[1:])  # which may be quoted as in predicates
            tags.append(tag if isinstance(tag, str) else word[1:])
            continue
        name, value = _attribute(word)
        if name in attributes:
            raise InputError(f"the attribute {name!r} is given twice", hint=f"write {name}=[1, 2] for several values")
        attributes[name] = value
    return Message(attributes, tags)


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


def _value(text: str) -> Any:
    """Return the value of a JSON text; any other text is a string."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text


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
                items.append(item_from_json(line))
            except InputError as error:
                errors.append(error.at(file=str(path), line=number))
    if errors:
        raise FileError(str(path), errors)
    return items


def first_item(items: Sequence[Item], request: Message) -> Item | None:
    """Return the first item that matches a request."""
    filter = filter_of(request)
    return next((item for item in items if filter.matches(item.message)), None)
