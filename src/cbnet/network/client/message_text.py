"""Messages and payloads as text: `price=3 '#sale'` on a command line, JSON in files, one line for people.

An attribute is written as in a predicate, with or without blanks around `=`, and its value as in JSON. A payload is
bytes; in JSON it is a string, in base64 if it is not UTF-8.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from cbnet.errors import InputError
from cbnet.language import Message
from cbnet.matching.files.message_files import message_from_line

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
    text = str(Message.from_dict(message)) or "(empty message)"
    shown = payload_members(payload)["payload"]
    return f"{text}  {shown}" if shown else text
