"""`POST /publish`: a message, CloudEvents or JSON Lines; `docs/reference/http.md` lists the content types.

No body has more values than its messages may have: that is checked before they are read. Bodies of many messages are
read in turns of some milliseconds.

The response is sent when the router has accepted the messages. Lines are published up to the first invalid one; the
problem document has its line number, and the number of messages published.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from cbnet.errors import CbnetError, InputError
from cbnet.language.cloud_events import message_from_event, messages_from_http
from cbnet.language.message import Message
from cbnet.network.client.async_client import AsyncClient
from cbnet.network.client.durable.durable_publishing import Receipt, Required, parse_required
from cbnet.network.client.message_encoding import checked_message
from cbnet.network.client.message_json import check_values, message_and_payload, object_from_json
from cbnet.network.http.http_links import links_of
from cbnet.network.http.problems import Problem, json_response, problem_of
from cbnet.network.http.request_input import MAX_BODY, RequestOptions, body_of, body_parts, turns

Item: TypeAlias = tuple[Message, bytes]
_LINES: Final = frozenset(
    {"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"}
)
_PLAIN: Final = frozenset({"", "application/json", "text/json", "text/plain", "application/x-www-form-urlencoded"})
_EVENTS: Final = "application/cloudevents"
_BATCH: Final = "application/cloudevents-batch+json"
_MAX_BATCH_VALUES: Final = 1 << 17  # 6 of each of the shortest events in a body
_EVENT_HEADERS: Final = ("ce-specversion", "ce-id", "ce-type")
_GROUP: Final = 256  # messages of a batch that are sent at once
_PATIENCE: Final = 60.0  # seconds that lines wait for a router that does not read, for instance under back-pressure


async def publish(request: Request) -> Response:
    """Publish the messages of a request."""
    publication = publication_of(RequestOptions(request.query_params, DURABLE_OPTIONS))
    async with links_of(request).shared(request) as client:
        if _media_type(request) in _LINES:
            return json_response(await _Lines(client, publication).publish(request))
        items = await _items(request, await body_of(request))
        answer = await publish_all(client, items, publication)
        return json_response({"published": len(items), "router": client.router, **answer})


class Publication(NamedTuple):
    """How messages are published."""

    is_durable: bool
    timeout: float
    require: Required = ()  # if durable

    async def durably(
        self, client: AsyncClient, messages: Sequence[Message], payloads: Sequence[bytes]
    ) -> list[Receipt]:
        """Publish messages durably, and return their receipts."""
        return await client.publish_durably(messages, payloads, timeout=self.timeout, require=self.require)


DURABLE_OPTIONS: Final = ("durable", "timeout", "require")


def publication_of(options: RequestOptions) -> Publication:
    """Return how the messages of a request are published."""
    require = options.text("require")
    publication = Publication(options.flag("durable"), options.timeout(), parse_required(require) if require else ())
    if require and not publication.is_durable:
        raise InputError("require needs durable=true", hint="add it, or leave `require` out")
    return publication


async def publish_all(client: AsyncClient, items: Sequence[Item], publication: Publication) -> dict[str, Any]:
    """Publish messages with their payloads, and wait until the router has accepted them; return further members."""
    messages, payloads = [message for message, _ in items], [payload for _, payload in items]
    if publication.is_durable:
        receipts = await publication.durably(client, messages, payloads)
        by_others = [receipt.refused_by_others for receipt in receipts]
        others = {"refused_by_others": by_others} if any(by_others) else {}
        return {"subscriptions": [receipt.subscriptions for receipt in receipts], **others}
    if len(items) == 1:
        await client.publish(messages[0], payloads[0], wait=True, timeout=publication.timeout)
    elif items:
        refused = client.refused
        for start in range(0, len(items), _GROUP):
            end = start + _GROUP
            await client.publish_many(messages[start:end], payloads[start:end], timeout=publication.timeout)
            await asyncio.sleep(0)
        await _check_accepted(client, refused, len(items), publication.timeout)
    return {}


async def _check_accepted(client: AsyncClient, refused_before: int, count: int, timeout: float) -> None:
    """Raise a `Problem` if the router has refused some of the last messages."""
    await client.status(timeout)  # the router answers after it has processed all earlier messages
    refused = client.refused - refused_before
    if refused:
        raise Problem(403, client.refusal, published=count - refused, refused=refused)


class _Lines:
    """JSON Lines that are published as they arrive."""

    def __init__(self, client: AsyncClient, publication: Publication) -> None:
        self._client = client
        self._publication = publication
        self._published = 0
        self._others = 0  # refusals of durable subscriptions of other accounts
        self._line = 0

    async def publish(self, request: Request) -> dict[str, Any]:
        """Publish all lines of a body."""
        refused, rest = self._client.refused, bytearray()
        try:
            async for part in body_parts(request):
                rest += part
                if b"\n" in part:
                    *lines, begun = bytes(rest).split(b"\n")
                    rest = bytearray(begun)
                    for group in turns(lines):
                        await self._publish_lines(group)
                        await asyncio.sleep(0)
                if len(rest) > MAX_BODY:
                    raise Problem(413, f"a line is longer than {MAX_BODY:,} bytes", line=self._line + 1)
            await self._publish_lines([bytes(rest)])
            await _check_accepted(self._client, refused, self._published, _PATIENCE)
        except CbnetError as error:
            raise problem_of(error, published=self._published - (self._client.refused - refused)) from None
        others = {"refused_by_others": self._others} if self._others else {}
        return {"published": self._published, "router": self._client.router, **others}

    async def _publish_lines(self, lines: Sequence[bytes]) -> None:
        items: list[Item] = []
        try:
            for text in lines:
                self._line += 1
                if len(text) > MAX_BODY:
                    raise Problem(413, f"a line is longer than {MAX_BODY:,} bytes", line=self._line)
                if text.strip():
                    items.append(message_and_payload(text))
        except CbnetError as error:
            await self._publish_items(items)
            raise error.at(line=self._line) if isinstance(error, InputError) else error from None
        await self._publish_items(items)

    async def _publish_items(self, items: Sequence[Item]) -> None:
        if not items:
            return
        messages, payloads = [message for message, _ in items], [payload for _, payload in items]
        if self._publication.is_durable:
            receipts = await self._publication.durably(self._client, messages, payloads)
            self._others += sum(receipt.refused_by_others for receipt in receipts)
        else:
            await self._client.publish_many(messages, payloads, timeout=_PATIENCE)
        self._published += len(items)


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _items(request: Request, body: bytes) -> list[Item]:
    """Return the messages of a request, with their payloads."""
    media_type = _media_type(request)
    if media_type == _BATCH:
        return await _batch(body)
    if media_type.startswith(_EVENTS) or any(map(request.headers.__contains__, _EVENT_HEADERS)):
        check_values(body)
        return [(message, b"") for message in messages_from_http(request.headers, body)]
    if media_type not in _PLAIN:
        raise Problem(415, f"content type {media_type} is not supported", hint="send application/json")
    return [message_and_payload(body)]


async def _batch(body: bytes) -> list[Item]:
    """Return the messages of a batch of CloudEvents; all are checked before the first is published."""
    check_values(body, _MAX_BATCH_VALUES)
    try:
        events = [bytes(event) for event in msgspec.json.decode(body, type=list[msgspec.Raw])]
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InputError(f"not a JSON array of events: {error}", hint="send one event as structured content") from None
    items: list[Item] = []
    for group in turns(events):
        for event in group:
            try:
                items.append((checked_message(message_from_event(object_from_json(event))), b""))
            except InputError as error:
                raise InputError(f"event {len(items) + 1}: {error.problem}", hint=error.hint) from None
        await asyncio.sleep(0)
    return items
