"""Server-sent events: the response, its events, and its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from starlette.types import Receive, Send

KEEP_ALIVE: Final = 15.0  # seconds of silence until a comment is sent; the page reconnects after 40
KEEP_ALIVE_COMMENT: Final = b": keep-alive\n\n"
_RETRY: Final = b"retry: 1000\n"
_HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # proxies pass events on at once
]


async def begin_events(send: Send, first: bytes) -> None:
    """Send the head of the response, and the first event."""
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send_events(send, _RETRY + first)


async def send_events(send: Send, data: bytes) -> None:
    """Send some events."""
    await send({"type": "http.response.body", "body": data, "more_body": True})


async def end_events(send: Send) -> None:
    """End the response."""
    await send({"type": "http.response.body", "body": b""})


async def disconnected(receive: Receive) -> None:
    """Wait until the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass


def event(members: Mapping[str, Any], *, name: str = "", id: str = "") -> bytes:
    """Return the bytes of an event."""
    head = (f"event: {name}\n" if name else "") + (f"id: {id}\n" if id else "")
    return head.encode() + b"data: " + msgspec.json.encode(members) + b"\n\n"
