"""Requests to local holders: the clients of this router with a matching offer.

One holder is asked, the one with the fewest open requests. If it lacks the item, disconnects, does not answer in time,
or answers with an item that does not match, the next one is asked.

    HolderRequest ──► client ──► Answer ──► a reply, if it matches the request; else dropped and counted
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from cbnet.errors import InputError, UndecidedError
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.counters import DropReason, Event
from cbnet.network.link.link import Link
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.frames import Answer, HolderRequest, ItemField, ReplyFrame, Request
from cbnet.network.protocol.message_frames import with_step
from cbnet.network.protocol.request_codec import request_from_bytes
from cbnet.network.protocol.wire import WireError

MAX_HOLDER_REQUESTS: Final = 1_000  # open requests to one holder
MAX_OPEN_REQUESTS: Final = 20_000  # to all holders


def is_reply(request: bytes, item: ItemField | ReplyFrame) -> bool:
    """Return whether an item matches a request; raise a `WireError` if one of them is invalid."""
    try:
        return request_from_bytes(request).filter.matches(Content(item))
    except UndecidedError:
        return False
    except InputError as error:
        raise WireError(f"invalid reply: {error.summary}") from None


@dataclass
class _OpenRequest:
    request: Request
    link: int
    client: str  # its name
    start: float
    deadline: float
    asked: Set[int]  # links of the holders asked so far, including this one


class Holders:
    """The open requests to local holders."""

    def __init__(
        self,
        core: RouterCore,
        *,
        on_reply: Callable[[ReplyFrame], None],
        on_no_item: Callable[[Request], None],
    ) -> None:
        """Initialise; on_reply: called with a holder's reply. on_no_item: called when no holder has the item."""
        self._core = core
        self._open: dict[int, _OpenRequest] = {}
        self._busy: Counter[int] = Counter()  # open requests by link
        self._numbers = 0
        self._on_reply = on_reply
        self._on_no_item = on_no_item

    def __len__(self) -> int:
        return len(self._open)

    def has(self, request: bytes) -> bool:
        """Return whether a local holder offers to answer a request."""
        return bool(self._core.offer_fib.match(request_from_bytes(request).content).possible_clients)

    def ask(self, request: Request, asked: Set[int] = frozenset()) -> None:
        """Ask a local holder that was not asked yet; if there is none, or the limit is reached, report it."""
        holders = self._core.offer_fib.match(request_from_bytes(request.request).content).possible_clients
        available = [link for link in holders if link not in asked and self._busy[link] < MAX_HOLDER_REQUESTS]
        if not available or request.asked >= request.max_holders or len(self._open) >= MAX_OPEN_REQUESTS:
            self._on_no_item(request)
            return
        link = min(available, key=lambda link: (self._busy[link], link))
        now = self._core.now
        self._numbers += 1
        deadline = now + min(self._core.settings.answer, request.timeout / 1000)
        self._open[self._numbers] = _OpenRequest(
            request, link, self._core.links.name(link), now, deadline, asked | {link}
        )
        self._busy[link] += 1
        self._core.outbox.send(link, HolderRequest(self._numbers, holders[link][0], request.request))

    def answer(self, link: Link, frame: Answer) -> None:
        """Handle the answer of a holder."""
        entry = self._open.get(frame.number)
        if entry is None or entry.link != link.id:
            self._core.drop(DropReason.UNEXPECTED_ANSWER)
            return
        self._end(frame.number)
        if frame.item is None:
            self._next(entry, "it lacks the item")
            return
        if is_reply(entry.request.request, frame.item):
            self._core.counters[Event.REQUESTS_ANSWERED] += 1
            self._on_reply(self._reply(entry, frame.item))
        else:
            self._core.drop(DropReason.REPLY_MISMATCH)
            self._next(entry, "its reply does not match the request")

    def check(self) -> None:
        """Give up on holders that have not answered in time."""
        now = self._core.now
        for number, entry in list(self._open.items()):
            if now >= entry.deadline and number in self._open:
                self._end(number)
                self._core.counters[Event.HOLDERS_TIMED_OUT] += 1
                self._next(entry, "it timed out")

    def remove_client(self, link: int) -> None:
        """Ask other holders instead of a client that disconnected, whose offers are removed already."""
        for number in [number for number, entry in self._open.items() if entry.link == link]:
            self._next(self._end(number), "it disconnected")
        del self._busy[link]

    def _next(self, entry: _OpenRequest, reason: str) -> None:
        """Ask the next holder after one that did not supply the item."""
        waited = round((self._core.now - entry.start) * 1000)
        request = entry.request
        tried = replace(request, asked=request.asked + 1, timeout=max(0, request.timeout - waited))
        traced = with_step(tried, self._core.name, f"{entry.client} was asked: {reason}")
        if tried.timeout:
            self.ask(traced, entry.asked)
        else:
            self._core.drop(DropReason.REQUEST_EXPIRED)

    def _reply(self, entry: _OpenRequest, item: ItemField) -> ReplyFrame:
        request = entry.request
        reply = ReplyFrame(
            to=request.source,
            hops=0,
            incarnation=request.incarnation,
            number=request.number,
            request=request.request,
            attributes=item.attributes,
            tags=item.tags,
            payload=item.payload,
            holder=self._core.name,
            cache="",
            age=0,
            keep=item.keep,
            asked=request.asked + 1,
            steps=request.steps,
        )
        return with_step(reply, self._core.name, f"{entry.client} was asked: it has the item")

    def _end(self, number: int) -> _OpenRequest:
        entry = self._open.pop(number)
        self._busy[entry.link] -= 1
        return entry
