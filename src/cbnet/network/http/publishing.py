"""`POST /publish`: a message, CloudEvents or JSON Lines.

    application/json, or none of these          {"price": 3}, or {"message": {"price": 3}, "payload": "…"}
    application/cloudevents+json, …-batch+json  CloudEvents in structured mode
    any, with headers ce-id, ce-type, …         a CloudEvent in binary mode
    application/x-ndjson, application/jsonl     JSON Lines, published while they arrive

The response is sent when the router has accepted the messages. Lines are published up to the first invalid one; the
problem document has its line number, and the number of messages published.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from cbnet.errors import CbnetError, InputError
from cbnet.language.cloud_events import messages_from_http
from cbnet.language.message import Message
from cbnet.network.client.async_client import AsyncClient
from cbnet.network.client.message_json import message_and_payload
from cbnet.network.http.http_links import HttpLinks
from cbnet.network.http.problems import Problem, json_response, problem_of
from cbnet.network.http.request_input import MAX_BODY, RequestOptions, body_of, body_parts

Item: TypeAlias = tuple[Message, bytes]
_LINES: Final = frozenset(
    {"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"}
)
_PLAIN: Final = frozenset({"", "application/json", "text/json", "text/plain", "application/x-www-form-urlencoded"})
_EVENTS: Final = "application/cloudevents"
_EVENT_HEADERS: Final = ("ce-specversion", "ce-id", "ce-type")
_PATIENCE: Final = 60.0  # seconds that lines wait for a router that does not read, for instance under back-pressure


class Publishing:
    """The endpoint of a router for messages."""

    def __init__(self, links: HttpLinks) -> None:
        self._links = links

    async def __call__(self, request: Request) -> Response:
        """Publish the messages of a request."""
        options = RequestOptions(request.query_params, ("durable", "timeout"))
        is_durable, timeout = options.flag("durable"), options.timeout()
        async with self._links.shared(request) as client:
            if _media_type(request) in _LINES:
                lines = _Lines(client, is_durable=is_durable, timeout=timeout)
                return json_response(await lines.publish(request))
            items = _items(request, await body_of(request))
            answer = await publish_all(client, items, is_durable=is_durable, timeout=timeout)
            return json_response({"published": len(items), "router": client.router, **answer})


async def publish_all(
    client: AsyncClient, items: Sequence[Item], *, is_durable: bool, timeout: float
) -> dict[str, Any]:  # fmt: skip
    """Publish messages with their payloads, and wait until the router has accepted them; return further members."""
    messages, payloads = [message for message, _ in items], [payload for _, payload in items]
    if is_durable:
        receipts = await client.publish_durably(messages, payloads, timeout=timeout)
        return {"subscriptions": [receipt.subscriptions for receipt in receipts]}
    if len(items) == 1:
        await client.publish(messages[0], payloads[0], wait=True, timeout=timeout)
    elif items:
        refused = client.refused
        await client.publish_many(messages, payloads, timeout=timeout)
        await _check_accepted(client, refused, len(items), timeout)
    return {}


async def _check_accepted(client: AsyncClient, refused_before: int, count: int, timeout: float) -> None:
    """Raise a `Problem` if the router has refused some of the last messages."""
    await client.status(timeout)  # the router answers after it has processed all earlier messages
    refused = client.refused - refused_before
    if refused:
        raise Problem(403, client.refusal, published=count - refused, refused=refused)


class _Lines:
    """JSON Lines that are published as they arrive."""

    def __init__(self, client: AsyncClient, *, is_durable: bool, timeout: float) -> None:
        self._client = client
        self._is_durable = is_durable
        self._timeout = timeout
        self._published = 0
        self._line = 0

    async def publish(self, request: Request) -> dict[str, Any]:
        """Publish all lines of a body."""
        refused, rest = self._client.refused, b""
        try:
            async for part in body_parts(request):
                *lines, rest = (rest + part).split(b"\n") if b"\n" in part else (rest + part,)
                if len(rest) > MAX_BODY:
                    raise Problem(413, f"a line is longer than {MAX_BODY:,} bytes", line=self._line + 1)
                await self._publish_lines(lines)
            await self._publish_lines([rest])
            await _check_accepted(self._client, refused, self._published, _PATIENCE)
        except CbnetError as error:
            raise problem_of(error, published=self._published - (self._client.refused - refused)) from None
        return {"published": self._published, "router": self._client.router}

    async def _publish_lines(self, lines: Sequence[bytes]) -> None:
        items: list[Item] = []
        try:
            for text in lines:
                self._line += 1
                if text.strip():
                    items.append(message_and_payload(text))
        except InputError as error:
            await self._publish_items(items)
            raise error.at(line=self._line) from None
        await self._publish_items(items)

    async def _publish_items(self, items: Sequence[Item]) -> None:
        if not items:
            return
        messages, payloads = [message for message, _ in items], [payload for _, payload in items]
        if self._is_durable:
            await self._client.publish_durably(messages, payloads, timeout=self._timeout)
        else:
            await self._client.publish_many(messages, payloads, timeout=_PATIENCE)
        self._published += len(items)


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _items(request: Request, body: bytes) -> list[Item]:
    """Return the messages of a request, with their payloads."""
    media_type = _media_type(request)
    if media_type.startswith(_EVENTS) or any(map(request.headers.__contains__, _EVENT_HEADERS)):
        return [(message, b"") for message in messages_from_http(request.headers, body)]
    if media_type not in _PLAIN:
        raise Problem(415, f"content type {media_type} is not supported", hint="send application/json")
    return [message_and_payload(body)]
