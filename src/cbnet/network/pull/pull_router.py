"""PullRouter: which way does a request take through this router, and its reply back? [2014 §2, §3]

    requester ─► router ─► … ─► router ─► holder      the request, toward the nearest router with an offer it matches
    requester ◄─ router ◄─ … ◄─ router ◄─ holder      the reply, by its locator

A request goes to one holder. If that has not got the item, or there is no way to it any more, the router where the
request then is sends it to the nearest of the others; those that were tried are in the request. A router on the way
keeps nothing of a request. It keeps the reply for a while, and answers the same request from this cache.
"""

from __future__ import annotations

from msgspec.structs import replace

from cbnet.errors import InputError
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import DropReason
from cbnet.network.linkstate.database import Database
from cbnet.network.linkstate.unicast import UnicastForwarder
from cbnet.network.linkstate.view import ViewHistory
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.fields import MAX_TRIED_ROUTERS
from cbnet.network.protocol.frames import NoItem, ReplyFrame, Request
from cbnet.network.protocol.request_codec import request_from_bytes
from cbnet.network.protocol.wire import WireError
from cbnet.network.pull.holders import Holders
from cbnet.network.pull.pull_trace import CAME_BACK, with_step
from cbnet.network.pull.reply_cache import ReplyCache
from cbnet.network.pull.requesters import Requesters


class PullRouter:
    """The way of requests and replies through one router."""

    def __init__(
        self,
        context: RouterContext,
        database: Database,
        views: ViewHistory,
        unicast: UnicastForwarder,
        holders: Holders,
        requesters: Requesters,
        cache: ReplyCache,
    ) -> None:
        self._context = context
        self._database = database
        self._views = views
        self._unicast = unicast
        self._holders = holders
        self._requesters = requesters
        self._cache = cache
        holders.on_reply = self._take_reply
        holders.on_none = self._try_another

    # --- frames of neighbours, and of clients here

    def begin(self, request: Request) -> None:
        """Send a request of a client here on its way."""
        if not self._is_answered(request):
            self._try_next(request)

    def request(self, _: int, frame: Request) -> None:
        """Take a request from a neighbour."""
        request_from_bytes(frame.request)  # what is none must not be passed on
        if self._is_answered(frame):
            return
        if frame.to == self._context.name:
            self._holders.ask(frame)
        elif self._unicast.has_way(frame.to):
            self._unicast.pass_on(with_step(frame, self._context.name, f"passed on toward {frame.to}"))
        else:
            lost = with_step(frame, self._context.name, f"no way to {frame.to} any more")
            self._try_next(_with_tried(lost, frame.to))

    def reply(self, _: int, frame: ReplyFrame) -> None:
        """Take a reply from a neighbour."""
        try:
            is_right = request_from_bytes(frame.request).filter.matches(Content(frame))
        except InputError as error:
            raise WireError(f"a reply: {error.summary}") from None
        if is_right:
            self._take_reply(with_step(frame, self._context.name, CAME_BACK))
        else:
            self._context.drop(DropReason.REPLY_MISMATCH)

    def no_item(self, _: int, frame: NoItem) -> None:
        """Take from a neighbour that there is no reply."""
        if frame.to == self._context.name:
            self._requesters.no_item(frame)
        else:
            self._unicast.pass_on(frame)

    # --- requests

    def _is_answered(self, request: Request) -> bool:
        """Return whether the cache has answered a request."""
        kept = None if request.is_fresh else self._cache.get(request.request)
        if kept is None:
            return False
        me = self._context.name
        reply = replace(
            kept,
            to=request.source,
            hops=0,
            life=request.life,
            number=request.number,
            cache=me,
            asked=request.asked,
            steps=request.steps,
        )
        self._send_reply(with_step(reply, me, f"answered from its cache, {kept.age / 1000:.1f} s old"))
        return True

    def _try_another(self, request: Request) -> None:
        """Send a request on that no client here has answered."""
        self._try_next(_with_tried(request, self._context.name))

    def _try_next(self, request: Request) -> None:
        """Send a request to the nearest router that offers it and was not tried; if there is none, say so."""
        me = self._context.name
        to = self._nearest(request)
        if to is None:
            self._give_up(request)
        elif to == me:
            self._holders.ask(replace(request, to=me))
        else:
            on = with_step(replace(request, to=to, hops=0), me, f"sent toward {to}, the nearest that offers it")
            self._requesters.went(on)
            self._unicast.pass_on(on)

    def _nearest(self, request: Request) -> str | None:
        if request.asked >= request.max_holders or len(request.tried) >= MAX_TRIED_ROUTERS:
            return None
        offers, me = self._database.offers, self._context.name
        content = request_from_bytes(request.request).content
        offering = {offers.slots.holder(slot) for slot in offers.matched(content)} - {me, *request.tried}
        able = [node for node in offering if self._unicast.has_way(node)]
        if me not in request.tried and self._holders.has(request.request):  # before all know of it, and no longer
            able.append(me)
        return self._views.current().nearest(able)

    def _give_up(self, request: Request) -> None:
        """Tell who requested that there is no reply."""
        answer = NoItem(
            to=request.source,
            hops=0,
            life=request.life,
            number=request.number,
            tried=len(request.tried),
            asked=request.asked,
            steps=request.steps,
        )
        answer = with_step(answer, self._context.name, _why_not(request))
        if request.source == self._context.name:
            self._requesters.no_item(answer)
        else:
            self._unicast.pass_on(answer)

    # --- replies

    def _take_reply(self, reply: ReplyFrame) -> None:
        """Keep a reply for others who ask, and send it on."""
        self._cache.put(reply)
        self._send_reply(reply)

    def _send_reply(self, reply: ReplyFrame) -> None:
        if reply.to == self._context.name:
            self._requesters.reply(reply)
        else:
            self._unicast.pass_on(reply)


def _with_tried(request: Request, router: str) -> Request:
    return replace(request, tried=[*request.tried, router])


def _why_not(request: Request) -> str:
    if not request.tried:
        return "nobody offers it"
    return "enough holders were asked" if request.asked >= request.max_holders else "nobody else offers it"
