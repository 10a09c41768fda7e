"""Routing of requests and replies through one router [2014 §2, §3].

    requester ─► router ─► … ─► router ─► holder      the request, toward the nearest router with a matching offer
    requester ◄─ router ◄─ … ◄─ router ◄─ holder      the reply, by its locator

A request goes to one holder. If that lacks the item, or is no longer reachable, the router that has the request sends
it to the nearest of the others; the request lists the routers tried. A router on the path keeps no state of a request.
It caches the reply for a while, and answers equal requests from the cache.
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
from cbnet.network.pull.pull_trace import REPLY_STEP, with_step
from cbnet.network.pull.reply_cache import ReplyCache
from cbnet.network.pull.requesters import Requesters


class PullRouter:
    """Routes the requests and replies of one router."""

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
        holders.on_reply = self._handle_reply
        holders.on_no_item = self._try_another

    # --- frames

    def begin(self, request: Request) -> None:
        """Send a request of a local client."""
        if not self._answer_from_cache(request):
            self._try_next(request)

    def request(self, _: int, frame: Request) -> None:
        """Handle a request of a neighbour."""
        request_from_bytes(frame.request)  # raises if it is invalid
        if self._answer_from_cache(frame):
            return
        if frame.to == self._context.name:
            self._holders.ask(frame)
        elif self._unicast.has_route(frame.to):
            self._unicast.forward(with_step(frame, self._context.name, f"forwarded toward {frame.to}"))
        else:
            rerouted = with_step(frame, self._context.name, f"no route to {frame.to} any more")
            self._try_next(_with_tried(rerouted, frame.to))

    def reply(self, _: int, frame: ReplyFrame) -> None:
        """Handle a reply of a neighbour."""
        try:
            is_match = request_from_bytes(frame.request).filter.matches(Content(frame))
        except InputError as error:
            raise WireError(f"invalid reply: {error.summary}") from None
        if is_match:
            self._handle_reply(with_step(frame, self._context.name, REPLY_STEP))
        else:
            self._context.drop(DropReason.REPLY_MISMATCH)

    def no_item(self, _: int, frame: NoItem) -> None:
        """Handle the report of a neighbour that there is no reply."""
        if frame.to == self._context.name:
            self._requesters.no_item(frame)
        else:
            self._unicast.forward(frame)

    # --- requests

    def _answer_from_cache(self, request: Request) -> bool:
        """Answer a request from the cache; return whether that was possible."""
        cached = None if request.is_fresh else self._cache.get(request.request)
        if cached is None:
            return False
        me = self._context.name
        reply = replace(
            cached,
            to=request.source,
            hops=0,
            life=request.life,
            number=request.number,
            cache=me,
            asked=request.asked,
            steps=request.steps,
        )
        self._send_reply(with_step(reply, me, f"answered from its cache, {cached.age / 1000:.1f} s old"))
        return True

    def _try_another(self, request: Request) -> None:
        """Reroute a request that no local holder could answer."""
        self._try_next(_with_tried(request, self._context.name))

    def _try_next(self, request: Request) -> None:
        """Send a request to the nearest untried router with a matching offer; if there is none, give up."""
        me = self._context.name
        to = self._nearest(request)
        if to is None:
            self._give_up(request)
        elif to == me:
            self._holders.ask(replace(request, to=me))
        else:
            routed = with_step(
                replace(request, to=to, hops=0), me, f"sent toward {to}, the nearest router that offers it"
            )
            self._requesters.record_steps(routed)
            self._unicast.forward(routed)

    def _nearest(self, request: Request) -> str | None:
        if request.asked >= request.max_holders or len(request.tried) >= MAX_TRIED_ROUTERS:
            return None
        offers, me = self._database.offers, self._context.name
        content = request_from_bytes(request.request).content
        offering = {offers.slots.holder(slot) for slot in offers.matched(content)} - {me, *request.tried}
        available = [node for node in offering if self._unicast.has_route(node)]
        if me not in request.tried and self._holders.has(request.request):  # its own record may be out of date
            available.append(me)
        return self._views.current().nearest(available)

    def _give_up(self, request: Request) -> None:
        """Report to the requester that there is no reply."""
        answer = NoItem(
            to=request.source,
            hops=0,
            life=request.life,
            number=request.number,
            tried=len(request.tried),
            asked=request.asked,
            steps=request.steps,
        )
        answer = with_step(answer, self._context.name, _failure(request))
        if request.source == self._context.name:
            self._requesters.no_item(answer)
        else:
            self._unicast.forward(answer)

    # --- replies

    def _handle_reply(self, reply: ReplyFrame) -> None:
        """Cache a reply and forward it."""
        self._cache.put(reply)
        self._send_reply(reply)

    def _send_reply(self, reply: ReplyFrame) -> None:
        if reply.to == self._context.name:
            self._requesters.reply(reply)
        else:
            self._unicast.forward(reply)


def _with_tried(request: Request, router: str) -> Request:
    return replace(request, tried=[*request.tried, router])


def _failure(request: Request) -> str:
    if not request.tried:
        return "no router offers it"
    return (
        "the maximum number of holders were asked"
        if request.asked >= request.max_holders
        else "no other router offers it"
    )
