"""Requesters: which clients of this router wait for a reply, and until when?

Only the first and the last router of a request's way know of it: this is the first. Those in between pass on what
comes, and a reply finds back by its locator: the name of this router, its life, and the number of the request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cbnet.errors import LimitError
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import DropReason, Event
from cbnet.network.protocol.fields import Steps
from cbnet.network.protocol.frames import NoItem, PullFailure, PullFrame, PullReply, ReplyFrame, Request

MAX_CLIENT_REQUESTS: Final = 1_000  # requests of one client that wait for a reply
MAX_ROUTER_REQUESTS: Final = 20_000  # of all


@dataclass
class _Waiting:
    link: int
    number: int  # by which the client knows it
    request: bytes
    deadline: float
    steps: Steps  # of a traced one, until it left this router


class Requesters:
    """The requests of this router's clients that wait for a reply."""

    def __init__(self, context: RouterContext) -> None:
        self._context = context
        self._waiting: dict[int, _Waiting] = {}
        self._of: dict[int, int] = {}  # how many, by link
        self._numbers = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def begin(self, link: int, frame: PullFrame) -> Request:
        """Return the request of a client as it goes on its way; an `InputError` if too many wait already."""
        for what, count, limit in (
            ("requests of a client at once", self._of.get(link, 0) + 1, MAX_CLIENT_REQUESTS),
            ("requests at a router at once", len(self._waiting) + 1, MAX_ROUTER_REQUESTS),
        ):
            if count > limit:
                raise LimitError(what, count, limit)
        self._numbers += 1
        deadline = self._context.now + frame.timeout
        steps: Steps = [] if frame.is_traced else None
        self._waiting[self._numbers] = _Waiting(link, frame.number, frame.request, deadline, steps)
        self._of[link] = self._of.get(link, 0) + 1
        self._context.counters[Event.REQUESTS] += 1
        me, left = self._context.name, round(frame.timeout * 1000)
        return Request(
            to=me,
            hops=0,
            source=me,
            life=self._context.life,
            number=self._numbers,
            request=frame.request,
            tried=[],
            asked=0,
            max_holders=frame.max_holders,
            timeout=left,
            is_fresh=frame.is_fresh,
            steps=steps,
        )

    def went(self, request: Request) -> None:
        """Note which steps a request of a client here had made when it left this router: more may never be known."""
        if request.source == self._context.name and request.number in self._waiting:
            self._waiting[request.number].steps = request.steps

    def reply(self, frame: ReplyFrame) -> None:
        """Give a reply to the client that waits for it."""
        waiting = self._waiting.get(frame.number)
        if waiting is None or frame.life != self._context.life or frame.request != waiting.request:
            self._context.drop(DropReason.UNEXPECTED_REPLY)
            return
        self._end(frame.number)
        self._context.counters[Event.REPLIES] += 1
        answer = PullReply(
            number=waiting.number,
            attributes=frame.attributes,
            tags=frame.tags,
            payload=frame.payload,
            holder=frame.holder,
            cache=frame.cache,
            age=frame.age,
            asked=frame.asked,
            steps=frame.steps,
        )
        self._context.outbox.send(waiting.link, answer)

    def no_item(self, frame: NoItem) -> None:
        """Tell a client that there is no reply."""
        if frame.number not in self._waiting or frame.life != self._context.life:
            self._context.drop(DropReason.UNEXPECTED_REPLY)
            return
        self._context.counters[Event.REQUESTS_UNANSWERED] += 1
        self._tell(frame.number, is_late=False, tried=frame.tried, asked=frame.asked, steps=frame.steps)

    def check(self) -> None:
        """Tell the clients whose time is up."""
        now = self._context.now
        for number in [number for number, each in self._waiting.items() if now >= each.deadline]:
            self._context.counters[Event.REQUESTS_TIMED_OUT] += 1
            self._tell(number, is_late=True, tried=0, asked=0, steps=self._waiting[number].steps)

    def closed(self, link: int) -> None:
        """Forget the requests of a client that is gone."""
        if link in self._of:
            for number in [number for number, each in self._waiting.items() if each.link == link]:
                self._end(number)

    def _tell(self, number: int, *, is_late: bool, tried: int, asked: int, steps: Steps) -> None:
        waiting = self._end(number)
        self._context.outbox.send(waiting.link, PullFailure(waiting.number, is_late, tried, asked, steps))

    def _end(self, number: int) -> _Waiting:
        waiting = self._waiting.pop(number)
        self._of[waiting.link] -= 1
        if not self._of[waiting.link]:
            del self._of[waiting.link]
        return waiting
