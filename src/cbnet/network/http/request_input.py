"""Input of HTTP requests: options in the query or in a JSON object, and bodies of limited size."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from typing import Any, Final

import msgspec
from starlette.requests import Request

from cbnet.errors import InputError
from cbnet.files import check_keys
from cbnet.language.dialects import CBNET, parse
from cbnet.network.http.problems import Problem
from cbnet.network.router.clients import PREDICATE_LIMITS

MAX_BODY: Final = 1 << 20  # bytes; for JSON Lines, of one line
MAX_TIMEOUT: Final = 3_600.0  # seconds
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

    def number(self, name: str, default: float, most: float) -> float:
        """Return a positive number."""
        value = self._values.get(name, default)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = 0.0
        if not 0 < number <= most:
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

    def id(self) -> int | str:
        """Return the id that a client has chosen for a subscription or an offer."""
        id = self._values.get("id")
        if not isinstance(id, int | str) or isinstance(id, bool):
            raise InputError("no id", hint='choose a number or a string for each subscription and offer: "id": 1')
        return id

    def since(self, name: str) -> int | str | None:
        """Return a point in the past, such as an offset, 1h or first; None if it is missing."""
        value = self._values.get(name)
        if value is not None and type(value) not in (int, str):
            raise InputError(f"{name}: {value!r} is no point in the past", hint="use an offset, 1h or first")
        return value

    def timeout(self) -> float:
        """Return the timeout, in seconds."""
        return self.number("timeout", 5.0, MAX_TIMEOUT)

    def predicate(self, name: str) -> str:
        """Return a predicate as text, translated from the `dialect`; empty if it is missing."""
        source = self._values.get(name, "")
        dialect = self.text("dialect") or CBNET
        if source == "":
            return ""
        translated = parse(source, PREDICATE_LIMITS, dialect=dialect)
        return str(source if dialect == CBNET else translated)


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
    return object_of(await body_of(request, most))


def object_of(text: bytes | str) -> dict[str, Any]:
    """Return the object of a JSON text."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", hint="send a JSON object") from None
    if not isinstance(found, dict):
        raise InputError("not a JSON object", hint='send an object, such as {"message": {"price": 3}}')
    return found
