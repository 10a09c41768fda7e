"""Routing of requests and replies through one router [2014 §2, §3].

    requester ─► router ─► … ─► router ─► holder      the request, along a tree, toward a side that offers it
    requester ◄─ router ◄─ … ◄─ router ◄─ holder      the reply, by its locator

A request goes to one holder at a time. It walks along the tree into the sides that offer it, the smallest first, until
a holder has the item. When a side is exhausted, it returns to the previous router, which tries the next one. It carries
the routers it has visited and the way back, so a router keeps no state for a request. It visits no router twice, except
on the way back, so it terminates, whatever trees the routers have. A router caches the replies that pass through it for
a while, and answers equal requests from the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from cbnet.network.forwarding.forwarding_table import TreeInterface
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.counters import DropReason
from cbnet.network.link.link import Link
from cbnet.network.protocol.fields import MAX_VISITED_ROUTERS
from cbnet.network.protocol.frames import NoItem, PullFrame, ReplyFrame, Request
from cbnet.network.protocol.message_frames import REPLY_STEP, with_step
from cbnet.network.protocol.request_codec import request_from_bytes
from cbnet.network.pull.holders import Holders, is_reply
from cbnet.network.pull.reply_cache import ReplyCache
from cbnet.network.pull.requesters import Requesters


class PullRouter:
    """Routes the requests and replies of one router."""

    def __init__(self, core: RouterCore) -> None:
        self._core = core
        context = core
        links = core.links
        self.holders = Holders(core, on_reply=self.handle_reply, on_no_item=self._leave)
        self.requesters = Requesters(context)
        self.cache = ReplyCache(context)
        links.on_closed.append(self._link_closed)
        self.on_leave: Callable[[Request, Sequence[int]], bool] = lambda *_: False  # passes a request to other domains

    # --- frames

    def begin(self, link: Link, frame: PullFrame) -> None:
        """Send a request of a local client; raise a `LimitError` if too many are open."""
        self._visit(self.requesters.begin(link.id, frame, self._core.links.of_same_client(link)))

    def request(self, _: Link, frame: Request) -> None:
        """Handle a request from a neighbour."""
        request_from_bytes(frame.request)  # raises if it is invalid
        self._visit(frame)

    def reply(self, _: Link, frame: ReplyFrame) -> None:
        """Handle a reply from a neighbour."""
        if is_reply(frame.request, frame):
            self.handle_reply(with_step(frame, self._core.name, REPLY_STEP))
        else:
            self._core.drop(DropReason.REPLY_MISMATCH)

    # --- clients and time

    def _link_closed(self, link: Link) -> None:
        """Remove the requests of a client, and ask other holders instead of it."""
        self.requesters.remove_client(link.id)
        self.holders.remove_client(link.id)

    def check(self) -> None:
        """End the requests that have taken too long."""
        self.holders.check()
        self.requesters.check()

    # --- other domains

    def enter(self, request: Request, relay: Callable[[ReplyFrame | NoItem], None]) -> None:
        """Send a request from another domain in this one; relay: called with the answer."""
        entered = self.requesters.relay(request, relay)
        if entered is None:
            relay(_no_item(request))
        else:
            self._visit(entered)

    def _leave(self, request: Request) -> None:
        """Send a request to other domains that offer it; if there are none, continue in this domain."""
        domains = self._core.offer_fib.match(request_from_bytes(request.request).content).domains
        if not domains or _exceeded_limit(request) or not self.on_leave(request, domains):
            self.go_on(request)

    # --- requests

    def _answer_from_cache(self, request: Request) -> bool:
        """Answer a request from the cache; return whether that was possible."""
        cached = None if request.is_fresh else self.cache.get(request.request)
        if cached is None:
            return False
        me = self._core.name
        reply = replace(
            cached,
            to=request.source,
            hops=0,
            incarnation=request.incarnation,
            number=request.number,
            cache=me,
            asked=request.asked,
            steps=request.steps,
        )
        self._send_reply(with_step(reply, me, f"answered from its cache, {cached.age / 1000:.1f} s old"))
        return True

    def _visit(self, request: Request) -> None:
        """Answer a request from the cache or by a local holder, or forward it; it may come back to a router."""
        me = self._core.name
        if me in request.visited:
            self.go_on(request)
        elif not self._answer_from_cache(request):
            request = replace(request, visited=[*request.visited, me])
            if self.holders.has(request.request):
                self.holders.ask(replace(request, tried=min(request.tried, MAX_VISITED_ROUTERS) + 1))
            else:
                self._leave(request)

    def go_on(self, request: Request) -> None:
        """Forward a request into a side that offers it, or return it; at the source or at a limit, give up."""
        limit = _exceeded_limit(request)
        if limit:
            self._give_up(request, limit)
        elif (branch := self._next_branch(request)) is not None:
            self._forward(request, branch)
        elif request.path:
            self._return(request)
        else:
            self._give_up(request, "no other router offers it" if request.tried else "no router offers it")

    def _forward(self, request: Request, branch: TreeInterface) -> None:
        me, neighbour = self._core.name, branch.to.neighbour
        verb = "may offer" if branch.sources is None else "offers"
        forward = with_step(request, me, f"sent toward {neighbour}, whose side {verb} it")
        self._send(neighbour, replace(forward, path=[*request.path, me]))

    def _return(self, request: Request) -> None:
        """Return a request to the previous router; if its link is gone, to the last router of its path with a link."""
        path = request.path
        last = next(
            (index for index in reversed(range(len(path))) if self._core.links.to(path[index]) is not None), None
        )
        if last is None:
            self._give_up(request, "no other side offers it, and the way back is gone")
        else:
            back = with_step(request, self._core.name, f"returned to {path[last]}: no other side offers it")
            self._send(path[last], replace(back, path=path[:last]))

    def _send(self, neighbour: str, request: Request) -> None:
        link = self._core.links.to(neighbour)
        assert link is not None
        self.requesters.record_steps(request)
        self._core.outbox.send(link, request)

    def _next_branch(self, request: Request) -> TreeInterface | None:
        """Return the smallest side that offers the item and was not visited."""
        tree = self._core.versions.newest.tree(request.tree, request.source)
        if tree is None:
            return None
        sources = self._core.offer_fib.match(request_from_bytes(request.request).content).sources
        offering = [
            branch
            for branch in self._core.offer_fib.interfaces(tree)
            if self._core.links.to(branch.to.neighbour) is not None  # any session will do
            and branch.to.neighbour not in request.visited
            and (branch.sources is None or branch.sources & sources)
        ]
        return min(offering, key=lambda branch: (len(branch.to.behind), branch.to.neighbour), default=None)

    def _give_up(self, request: Request, reason: str) -> None:
        """Report to the requester that there is no reply."""
        answer = with_step(_no_item(request), self._core.name, reason)
        self._core.unicast.receive(answer, self.requesters.no_item)

    # --- replies

    def handle_reply(self, reply: ReplyFrame) -> None:
        """Cache a reply and forward it."""
        self.cache.put(reply)
        self._send_reply(reply)

    def _send_reply(self, reply: ReplyFrame) -> None:
        self._core.unicast.receive(reply, self.requesters.reply)


def _no_item(request: Request) -> NoItem:
    return NoItem(
        to=request.source,
        hops=0,
        incarnation=request.incarnation,
        number=request.number,
        tried=request.tried,
        asked=request.asked,
        steps=request.steps,
    )


def _exceeded_limit(request: Request) -> str:
    """Return the limit that a request has reached, in words; empty if there is none."""
    if request.asked >= request.max_holders:
        return "the maximum number of holders were asked"
    if max(len(request.visited), len(request.path)) >= MAX_VISITED_ROUTERS:
        return f"{MAX_VISITED_ROUTERS} routers were visited, which is the maximum"
    return ""
