"""Holders: which client of this router is asked for an item, and what if it has not got it?

One client with an offer that the request matches is asked, of several the one with the fewest requests to answer. If
it has not got the item, goes away, does not answer in time, or answers what was not asked for, the next one is.

    Asked ──► client ──► Answer ──► a reply, if it matches the request; else it is dropped and counted
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from cbnet.errors import InputError
from cbnet.network.announce.subscriptions import Subscriptions
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import DropReason, Event
from cbnet.network.link.links import LinkTable
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.frames import Answer, HolderRequest, ItemField, ReplyFrame, Request
from cbnet.network.protocol.request_codec import request_from_bytes
from cbnet.network.protocol.wire import WireError
from cbnet.network.pull.pull_trace import with_step

MAX_HOLDER_REQUESTS: Final = 1_000  # requests that wait for the answer of one client
MAX_OPEN_REQUESTS: Final = 20_000  # of all


@dataclass
class _Asking:
    request: Request
    link: int
    client: str  # its name
    began: float
    deadline: float
    asked: set[int] = field(default_factory=set)  # links of clients, with this one


class Holders:
    """The requests that clients of this router are asked to answer."""

    def __init__(self, context: RouterContext, links: LinkTable, offers: Subscriptions) -> None:
        self._context = context
        self._links = links
        self._offers = offers
        self._asking: dict[int, _Asking] = {}
        self._busy: Counter[int] = Counter()  # how many each client is asked, by link
        self._numbers = 0
        self.on_reply: Callable[[ReplyFrame], None] = lambda _: None  # called with what a client has answered
        self.on_none: Callable[[Request], None] = lambda _: None  # called when no client here has the item

    def __len__(self) -> int:
        return len(self._asking)

    def has(self, request: bytes) -> bool:
        """Return whether a client here offers to answer a request."""
        return bool(self._offers.matched(request_from_bytes(request).content))

    def ask(self, request: Request) -> None:
        """Ask a client of this router."""
        if not self.has(request.request):
            request = with_step(request, self._context.name, "no client here offers it any longer")
        self._ask_next(request, set())

    def answer(self, link: int, frame: Answer) -> None:
        """Take what a client says that it has."""
        asking = self._asking.get(frame.number)
        if asking is None or asking.link != link:
            self._context.drop(DropReason.UNEXPECTED_ANSWER)
            return
        self._end(frame.number)
        if frame.item is None:
            self._next(asking, "it has not got the item")
            return
        try:
            is_right = request_from_bytes(asking.request.request).filter.matches(Content(frame.item))
        except InputError as error:
            raise WireError(f"an answer: {error.summary}") from None
        if is_right:
            self._context.counters[Event.REQUESTS_ANSWERED] += 1
            self.on_reply(self._reply(asking, frame.item))
        else:
            self._context.drop(DropReason.REPLY_MISMATCH)
            self._next(asking, "its reply does not match the request")

    def check(self) -> None:
        """Give up clients that do not answer in time."""
        now = self._context.now
        for number, asking in list(self._asking.items()):
            if now >= asking.deadline and self._asking.pop(number, None) is not None:
                self._busy[asking.link] -= 1
                self._context.counters[Event.HOLDERS_TIMED_OUT] += 1
                self._next(asking, "it has not answered in time")

    def closed(self, link: int) -> None:
        """Ask others what a client was asked that is gone; its offers are gone already."""
        for number in [number for number, asking in self._asking.items() if asking.link == link]:
            self._next(self._end(number), "it has gone away")
        del self._busy[link]

    def _ask_next(self, request: Request, asked: set[int]) -> None:
        """Ask a client that was not asked; if there is none, or enough were, give the request back."""
        found = self._offers.matched(request_from_bytes(request.request).content)
        able = [link for link in found if link not in asked and self._busy[link] < MAX_HOLDER_REQUESTS]
        if not able or request.asked >= request.max_holders or len(self._asking) >= MAX_OPEN_REQUESTS:
            self.on_none(request)
            return
        link = min(able, key=lambda link: (self._busy[link], link))
        now = self._context.now
        self._numbers += 1
        deadline = now + min(self._context.settings.answer, request.timeout / 1000)
        self._asking[self._numbers] = _Asking(request, link, self._links.name(link), now, deadline, asked | {link})
        self._busy[link] += 1
        self._context.outbox.send(link, HolderRequest(self._numbers, found[link][0], request.request))

    def _next(self, asking: _Asking, why_not: str) -> None:
        """Go on after a client that has not given the item."""
        waited = round((self._context.now - asking.began) * 1000)
        request = asking.request
        tried = replace(request, asked=request.asked + 1, timeout=max(0, request.timeout - waited))
        told = with_step(tried, self._context.name, f"{asking.client} was asked: {why_not}")
        if tried.timeout:
            self._ask_next(told, asking.asked)
        else:
            self._context.drop(DropReason.REQUEST_EXPIRED)

    def _reply(self, asking: _Asking, item: ItemField) -> ReplyFrame:
        request = asking.request
        reply = ReplyFrame(
            to=request.source,
            hops=0,
            life=request.life,
            number=request.number,
            request=request.request,
            attributes=item.attributes,
            tags=item.tags,
            payload=item.payload,
            holder=self._context.name,
            cache="",
            age=0,
            keep=item.keep,
            asked=request.asked + 1,
            steps=request.steps,
        )
        return with_step(reply, self._context.name, f"{asking.client} was asked: it has the item")

    def _end(self, number: int) -> _Asking:
        asking = self._asking.pop(number)
        self._busy[asking.link] -= 1
        return asking
