"""CloudEvents as messages: structured and batched JSON, and the binary mode of HTTP.

    messages_from_http({"content-type": "application/json", "ce-type": "order.paid", …}, b'{"amount": 5}')
    [Message({"type": "order.paid", …, "datacontenttype": "application/json", "data": {"amount": 5}})]

A message has the context attributes and extensions of the event under their names, and its data under `data`:
JSON as it is, other text as a string. Data that is neither, such as an image, is left out, and so are bytes whose
content type is not given.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from cbnet.errors import MessageFormatError
from cbnet.language.message import Message
from cbnet.language.values import type_name

REQUIRED_ATTRIBUTES = ("specversion", "id", "source", "type")
TEXT_ATTRIBUTES = frozenset({*REQUIRED_ATTRIBUTES, "subject", "time", "dataschema", "datacontenttype"})
_NAME = re.compile(r"[a-z0-9]+")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_JSON_TYPE = re.compile(r"[^;]*[/+]json\s*(;.*)?", re.IGNORECASE)
_TEXT_TYPE = re.compile(r"text/|[^;]*[/+]xml\b", re.IGNORECASE)
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([^\s\";]+)", re.IGNORECASE)
_PREFIX = "ce-"
_HEADERS_HINT = 'write {"content-type": "application/json"}, or pairs of name and value'
_UNKNOWN_TYPE = "application/octet-stream"
_FORMATS = "application/cloudevents"
_STRUCTURED, _BATCHED = f"{_FORMATS}+json", f"{_FORMATS}-batch+json"


def messages_from_http(headers: Mapping[str, str] | Iterable[tuple[str, str]], body: bytes) -> list[Message]:
    """Return the messages of an HTTP request or response that carries CloudEvents.

    headers: by name, or pairs of name and value.
    The content type decides: one structured event, a batch, or binary mode, with the attributes in headers.
    """
    if not isinstance(body, bytes):
        raise MessageFormatError(f"the body must be bytes, not {type_name(body)}", hint="encode it as UTF-8")
    lower = dict(_header(each) for each in (headers.items() if isinstance(headers, Mapping) else _listed(headers)))
    content_type = lower.get("content-type", "")
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type == _BATCHED:
        return messages_from_batch(_json(body))
    if media_type == _STRUCTURED:
        return [message_from_event(_json(body))]
    if media_type.startswith(_FORMATS):
        raise MessageFormatError(f"events in {media_type} are not supported", hint=f"send {_STRUCTURED}")
    return [_binary(lower, content_type, body)]


def _listed(headers: object) -> Iterable[object]:
    if isinstance(headers, str | bytes) or not isinstance(headers, Iterable):
        raise MessageFormatError(f"the headers must be a mapping, not {type_name(headers)}", hint=_HEADERS_HINT)
    return headers


def _header(pair: object) -> tuple[str, str]:
    """Return the name of a header in lower case, and its value."""
    match pair:
        case [str(name), str(value)]:
            return name.lower(), value
    raise MessageFormatError("a header must be a pair of strings: name and value", hint=_HEADERS_HINT)


def messages_from_batch(events: object) -> list[Message]:
    """Return the messages of a batch of events, a list in the JSON format."""
    if not isinstance(events, list):
        raise MessageFormatError("a batch of events must be a JSON array", hint="send one event as structured content")
    messages = []
    for number, event in enumerate(events, 1):
        try:
            messages.append(message_from_event(event))
        except MessageFormatError as error:
            raise MessageFormatError(f"event {number}: {error.problem}", hint=error.hint) from None
    return messages


def message_from_event(event: object) -> Message:
    """Return the message of one event in the JSON format."""
    if not isinstance(event, Mapping):
        raise MessageFormatError("an event must be a JSON object", hint="send several events as a batch")
    attributes = {
        name: value for name, value in event.items() if value is not None and name not in ("data", "data_base64")
    }
    for name, value in attributes.items():
        _check_attribute(name, value)
    if "data" in event and event.get("data_base64") is not None:
        raise MessageFormatError("an event has both `data` and `data_base64`", hint="send one of them")
    if "data" in event:
        attributes["data"] = event["data"]
    elif event.get("data_base64") is not None:
        try:
            data = base64.b64decode(str(event["data_base64"]), validate=True)
        except binascii.Error:
            raise MessageFormatError("data_base64 is not base64", hint="encode the data") from None
        attributes |= _data(data, str(attributes.get("datacontenttype", _UNKNOWN_TYPE)))
    return _message(attributes)


def _binary(headers: Mapping[str, str], content_type: str, body: bytes) -> Message:
    attributes: dict[str, Any] = {}
    for header, value in headers.items():
        if header.startswith(_PREFIX):
            name = header.removeprefix(_PREFIX)
            if name == "datacontenttype":
                raise MessageFormatError("the header ce-datacontenttype is not allowed", hint="use content-type")
            attributes[name] = _header_text(header, value)
            _check_attribute(name, attributes[name])
    if content_type:
        attributes["datacontenttype"] = content_type
    if body:
        attributes |= _data(body, content_type or _UNKNOWN_TYPE)
    return _message(attributes)


def _message(attributes: dict[str, Any]) -> Message:
    for name in REQUIRED_ATTRIBUTES:
        if not attributes.get(name):
            raise MessageFormatError(
                f"the event has no `{name}`", hint="a CloudEvent needs id, source, specversion, type"
            )
    if attributes["specversion"] != "1.0":
        version = attributes["specversion"]
        raise MessageFormatError(f"specversion {version!r} is not supported", hint="send version 1.0")
    return Message(attributes)


def _check_attribute(name: object, value: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise MessageFormatError(f"{name!r} is not an attribute's name", hint="use lower-case letters and digits")
    is_integer = isinstance(value, int) and (isinstance(value, bool) or -(2**31) <= value < 2**31)
    if not isinstance(value, str) and not is_integer:
        raise MessageFormatError(
            f"{name}: an attribute must be a string, a bool or a 32-bit integer", hint="send it in the data"
        )
    if name in TEXT_ATTRIBUTES and not isinstance(value, str):
        raise MessageFormatError(f"{name}: must be a string", hint="write it in quotes")
    if name == "time" and not _TIME.fullmatch(str(value)):
        raise MessageFormatError("time: not a timestamp of RFC 3339", hint="write 2026-11-15T22:44:32Z")


def _data(data: bytes, content_type: str) -> dict[str, Any]:
    """Return the data of an event as a member; none if it is not text."""
    if _JSON_TYPE.fullmatch(content_type):
        return {"data": _json(data)}
    if not _TEXT_TYPE.match(content_type):
        return {}
    charset = _CHARSET.search(content_type)
    try:
        return {"data": data.decode(charset[1] if charset else "utf-8")}
    except (LookupError, ValueError):  # an unknown character set, or not of this one
        return {}


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MessageFormatError(f"the data is not JSON: {error}", hint="correct it, or its content type") from None


def _header_text(header: str, value: str) -> str:
    """Return the text of a header: quotes removed, then percent-encoding decoded."""
    if len(value) >= 2 and value[0] == value[-1] == '"':
        value = re.sub(r"\\(.)", r"\1", value[1:-1])
    try:
        return unquote_to_bytes(value).decode()
    except UnicodeDecodeError:
        raise MessageFormatError(f"{header}: not UTF-8", hint="percent-encode UTF-8") from None
