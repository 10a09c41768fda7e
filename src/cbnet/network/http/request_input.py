"""Input of HTTP requests: options in the query or in a JSON object, and bodies of limited size."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from starlette.requests import Request

from cbnet.errors import InputError
from cbnet.language.dialects import CBNET, parse
from cbnet.language.message import Message
from cbnet.language.search_budget import SearchBudget
from cbnet.network.client.message_encoding import checked_message
from cbnet.network.client.message_json import object_from_json
from cbnet.network.http.problems import Problem
from cbnet.network.http.processor_share import in_thread
from cbnet.network.protocol.content import MAX_EXAMINED_IN_ITEMS
from cbnet.network.protocol.fields import MAX_INT, PREDICATE_LIMITS
from cbnet.network.protocol.predicate_texts import LONG, read_ahead
from cbnet.toml_files import check_keys

MAX_BODY: Final = 1 << 20  # bytes; for JSON Lines, of one line
MAX_OBJECT_VALUES: Final = 1 << 14  # of an object with options: a message, or a predicate written as an object
MAX_TIMEOUT: Final = 3_600.0  # seconds
MAX_ID_LENGTH: Final = 256  # characters of an id or a number that a client chooses
_TURN: Final = 1 << 14  # bytes of texts, after which others are served
_TEXT: Final = 64  # further bytes that take as long as the shortest text
_BODY_TIMEOUT: Final = 30.0  # seconds between two parts of a body
_FLAGS: Final = {"true": True, "1": True, "": True, "false": False, "0": False, True: True, False: False}


class RequestOptions:
    """The options of a request, by name."""

    def __init__(self, values: Mapping[str, Any], known: Collection[str]) -> None:
        """Initialise with query parameters, or with the members of an object; raise an error for unknown names."""
        check_keys(values, known, " in the request")
        self._values = values

    def flag(self, name: str) -> bool:
        """Return whether an option is set."""
        value = self._values.get(name, False)
        try:
            return _FLAGS[value]
        except (KeyError, TypeError):
            raise InputError(f"{name}: {value!r} is neither true nor false") from None

    def number(self, name: str, default: float, most: float, *, least: float = 0.0) -> float:
        """Return a number that is at least `least`, and more than 0."""
        value = self._values.get(name, default)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = 0.0
        if not 0 < number <= most or number < least:
            raise InputError(
                f"{name}: {value!r} is not a valid number", hint=f"use a positive number up to {most:,.0f}"
            )
        return number

    def text(self, name: str) -> str:
        """Return a text; empty if it is missing."""
        value = self._values.get(name, "")
        if not isinstance(value, str):
            raise InputError(f"{name}: {value!r} is not a string")
        return value

    def reference(self, name: str) -> int | str:
        """Return an id or a number that a client has chosen, and that answers repeat."""
        value = self._values.get(name)
        if type(value) is int and -MAX_INT <= value <= MAX_INT:
            return value
        if isinstance(value, str) and len(value) <= MAX_ID_LENGTH:
            return value
        hint = f'choose a number of 64 bits, or a string of up to {MAX_ID_LENGTH} characters: "{name}": 1'
        raise InputError(f"no {name}" if value is None else f"{name}: {value!r} is not valid", hint=hint)

    def message(self, hint: str) -> Message:
        """Return the member `message`, within the limits of a message; hint: an example."""
        members = self._values.get("message")
        if not isinstance(members, dict):
            raise InputError("no message, or not an object", hint=hint)
        message = checked_message(Message.from_dict(members))
        message.limit_items(SearchBudget(MAX_EXAMINED_IN_ITEMS))
        return message

    def since(self, name: str) -> int | str | None:
        """Return a point in the past, such as an offset, 1h or first; None if it is missing."""
        value = self._values.get(name)
        if value is not None and type(value) not in (int, str):
            raise InputError(f"{name}: {value!r} is no point in the past", hint="use an offset, 1h or first")
        return value

    def timeout(self) -> float:
        """Return the timeout, in seconds."""
        return self.number("timeout", 5.0, MAX_TIMEOUT)

    async def predicate(self, name: str) -> str:
        """Return a predicate as text, translated from the `dialect`; empty if it is missing.

        Long ones are read in a thread: they take up to 0.2 s, in which others are served.
        """
        source = self._values.get(name, "")
        dialect = self.text("dialect") or CBNET
        if source == "":
            return ""
        if dialect != CBNET:
            return str(await in_thread(parse, source, PREDICATE_LIMITS, dialect=dialect))
        PREDICATE_LIMITS.check_text(source)
        if len(source) >= LONG:
            await in_thread(read_ahead, source, is_compared=True)
        return str(source)


async def body_of(request: Request, most: int = MAX_BODY) -> bytes:
    """Return the body of a request; raise a `Problem` if it is too large."""
    body = bytearray()
    async for part in body_parts(request):
        body += part
        if len(body) > most:
            hint = "send several requests, or JSON Lines" if most == MAX_BODY else ""
            raise Problem(413, f"the body is larger than {most:,} bytes", hint=hint)
    return bytes(body)


async def body_parts(request: Request) -> AsyncIterator[bytes]:
    """Yield the parts of a body; raise a `Problem` if the client is too slow."""
    parts = request.stream()
    while True:
        try:
            async with asyncio.timeout(_BODY_TIMEOUT):
                part = await anext(parts)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Problem(408, f"no part of the body for {_BODY_TIMEOUT:g} s", hint="send it again") from None
        yield part


async def json_object(request: Request, most: int = MAX_BODY) -> dict[str, Any]:
    """Return the JSON object in the body of a request; most: bytes."""
    return object_from_json(await body_of(request, most), MAX_OBJECT_VALUES)


def turns(texts: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Yield the texts in groups that are read in some milliseconds."""
    start = size = 0
    for end, text in enumerate(texts, 1):
        size += len(text) + _TEXT
        if size >= _TURN or end == len(texts):
            yield texts[start:end]
            start, size = end, 0
