"""Open requests of this router's clients.

Only the first and the last router on a request's path keep state for it: this is the first. The others forward it, and
a reply finds its way back by its locator: the name of this router, its incarnation, and the number of the request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from cbnet.errors import LimitError
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import DropReason, Event
from cbnet.network.protocol.frames import NoItem, PullFailure, PullFrame, PullReply, ReplyFrame, Request
from cbnet.network.protocol.message_frames import Steps

MAX_CLIENT_REQUESTS: Final = 1_000  # open requests of one client
MAX_ROUTER_REQUESTS: Final = 20_000  # of all clients


_OTHER_DOMAINS = -1  # instead of the link of a client


@dataclass
class _OpenPull:
    link: int
    number: int  # chosen by the client
    request: bytes
    deadline: float
    steps: Steps  # of a traced request, up to its departure from this router
    relay: Callable[[ReplyFrame | NoItem], None] | None = None  # passes the answer to another domain


class Requesters:
    """The open requests of this router's clients."""

    def __init__(self, context: RouterContext) -> None:
        self._context = context
        self._open: dict[int, _OpenPull] = {}
        self._counts = Counter[int]()  # by link
        self._numbers = 0

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, link: int, frame: PullFrame, links: Iterable[int]) -> Request:
        """Return the request frame for a client's request; raise a `LimitError` if too many are open.

        links: all links of the client.
        """
        for what, count, limit in (
            ("open requests of a client", sum(self._counts[each] for each in links) + 1, MAX_CLIENT_REQUESTS),
            ("open requests at a router", len(self._open) + 1, MAX_ROUTER_REQUESTS),
        ):
            if count > limit:
                raise LimitError(what, count, limit)
        self._numbers += 1
        deadline = self._context.now + frame.timeout
        steps: Steps = [] if frame.is_traced else None
        self._open[self._numbers] = _OpenPull(link, frame.number, frame.request, deadline, steps)
        self._counts[link] += 1
        self._context.counters[Event.REQUESTS] += 1
        me, left = self._context.name, round(frame.timeout * 1000)
        return Request(
            source=me,
            incarnation=self._context.incarnation,
            number=self._numbers,
            request=frame.request,
            tree=link % self._context.settings.tree_count,
            visited=[],
            path=[],
            tried=0,
            asked=0,
            max_holders=frame.max_holders,
            timeout=left,
            is_fresh=frame.is_fresh,
            steps=steps,
        )

    def relay(self, request: Request, relay: Callable[[ReplyFrame | NoItem], None]) -> Request | None:
        """Return the request frame for a request from another domain; None if too many are open."""
        if len(self._open) >= MAX_ROUTER_REQUESTS:
            return None
        self._numbers += 1
        deadline = self._context.now + request.timeout / 1000
        self._open[self._numbers] = _OpenPull(_OTHER_DOMAINS, 0, request.request, deadline, None, relay)
        self._counts[_OTHER_DOMAINS] += 1
        me, incarnation = self._context.name, self._context.incarnation
        return replace(request, source=me, incarnation=incarnation, number=self._numbers, visited=[], path=[])

    def record_steps(self, request: Request) -> None:
        """Record the steps of a traced request as it leaves this router: it may never come back."""
        if request.source == self._context.name and request.number in self._open:
            self._open[request.number].steps = request.steps

    def reply(self, frame: ReplyFrame) -> None:
        """Send a reply to the client that waits for it."""
        pull = self._open.get(frame.number)
        if pull is None or frame.incarnation != self._context.incarnation or frame.request != pull.request:
            self._context.drop(DropReason.UNEXPECTED_REPLY)
            return
        self._end(frame.number)
        if pull.relay is not None:
            pull.relay(frame)
            return
        self._context.counters[Event.REPLIES] += 1
        answer = PullReply(
            number=pull.number,
            attributes=frame.attributes,
            tags=frame.tags,
            payload=frame.payload,
            holder=frame.holder,
            cache=frame.cache,
            age=frame.age,
            asked=frame.asked,
            steps=frame.steps,
        )
        self._context.outbox.send(pull.link, answer)

    def no_item(self, frame: NoItem) -> None:
        """Report to a client that there is no reply."""
        if frame.number not in self._open or frame.incarnation != self._context.incarnation:
            self._context.drop(DropReason.UNEXPECTED_REPLY)
            return
        relay = self._open[frame.number].relay
        if relay is not None:
            self._end(frame.number)
            relay(frame)
            return
        self._context.counters[Event.REQUESTS_UNANSWERED] += 1
        self._fail(frame.number, is_late=False, tried=frame.tried, asked=frame.asked, steps=frame.steps)

    def check(self) -> None:
        """Report timeouts to clients."""
        now = self._context.now
        for number in [number for number, each in self._open.items() if now >= each.deadline]:
            if self._open[number].relay is not None:
                self._end(number)
                self._context.drop(DropReason.REQUEST_EXPIRED)
                continue
            self._context.counters[Event.REQUESTS_TIMED_OUT] += 1
            self._fail(number, is_late=True, tried=0, asked=0, steps=self._open[number].steps)

    def remove_client(self, link: int) -> None:
        """Remove the requests of a client."""
        if link in self._counts:
            for number in [number for number, each in self._open.items() if each.link == link]:
                self._end(number)

    def _fail(self, number: int, *, is_late: bool, tried: int, asked: int, steps: Steps) -> None:
        pull = self._end(number)
        self._context.outbox.send(pull.link, PullFailure(pull.number, is_late, tried, asked, steps))

    def _end(self, number: int) -> _OpenPull:
        pull = self._open.pop(number)
        self._counts[pull.link] -= 1
        if not self._counts[pull.link]:
            del self._counts[pull.link]
        return pull
