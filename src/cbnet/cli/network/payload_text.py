"""Payload text: how does a payload, which is bytes, stand in JSON? As text, if it is some, else in base 64."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from cbnet.errors import InputError
from cbnet.language import Message


def payload_members(payload: bytes) -> dict[str, str]:
    """Return the members of a JSON object that say a payload."""
    try:
        return {"payload": payload.decode()}
    except UnicodeDecodeError:
        return {"payload": base64.b64encode(payload).decode(), "encoding": "base64"}


def payload_of(members: dict[str, Any]) -> bytes:
    """Return the payload that a JSON object says; none if it says nothing of it."""
    text, encoding = members.get("payload", ""), members.get("encoding", "utf-8")
    if not isinstance(text, str) or encoding not in ("utf-8", "base64"):
        raise InputError("the payload is not a text", hint='write "payload": "…", and "encoding": "base64" for bytes')
    try:
        return base64.b64decode(text, validate=True) if encoding == "base64" else text.encode()
    except (binascii.Error, UnicodeEncodeError):
        raise InputError("the payload cannot be read", hint="write it as UTF-8 or in base 64") from None


def message_line(message: dict[str, Any], payload: bytes) -> str:
    """Return a message and its payload as a line for people."""
    text = str(Message.from_dict(message)) or "(an empty message)"
    shown = payload_members(payload)["payload"]
    return f"{text}  {shown}" if shown else text
