"""Calls of a client: frames that await an answer of the router, each by its kind and its id or number."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from cbnet.network.errors import NotConnected, Refused
from cbnet.network.protocol import frames
from cbnet.network.protocol.frames import Frame, frame_number

Call: TypeAlias = tuple[int, int]  # the number of the kind of frame, and its id or number

# Answer -> the member that identifies the call, and the frames that it may answer.
_ANSWERED: Final[Mapping[type[Frame], tuple[str, tuple[type[Frame], ...]]]] = {
    frames.Subscribed: ("id", (frames.Subscribe, frames.DurableSubscribe, frames.Replay)),
    frames.Unsubscribed: ("id", (frames.Unsubscribe,)),
    frames.Offered: ("id", (frames.OfferFrame,)),
    frames.Withdrawn: ("id", (frames.Withdraw,)),
    frames.Published: ("number", (frames.Publish,)),
    frames.TraceEnd: ("number", (frames.Trace,)),
    frames.PullReply: ("number", (frames.PullFrame,)),
    frames.PullFailure: ("number", (frames.PullFrame,)),
    frames.Status: ("number", (frames.StatusRequest,)),
    frames.SubscriptionList: ("number", (frames.SubscriptionRequest,)),
    frames.TableSummary: ("number", (frames.TableRequest,)),
    frames.FilterPage: ("number", (frames.FilterRequest,)),
    frames.DurableReport: ("number", (frames.DurableQuery,)),
    frames.DurableRemoved: ("number", (frames.DurableRemove, frames.ForgetHome)),
    frames.DurableLimited: ("number", (frames.DurableLimit,)),
    frames.DurablePeeked: ("number", (frames.DurablePeek,)),
    frames.DurableTaken: ("number", (frames.DurableMove, frames.DurablePurge)),
    frames.JournalBackedUp: ("number", (frames.JournalBackup,)),
    frames.Reloaded: ("number", (frames.Reload,)),
}


class ClientCalls:
    """The open calls of one client."""

    def __init__(self) -> None:
        self._futures: dict[Call, asyncio.Future[Any]] = {}

    def __len__(self) -> int:
        return len(self._futures)

    @contextmanager
    def open(self, kind: type[Frame], number: int) -> Iterator[asyncio.Future[Any]]:
        """Open a call, and close it at the end; the future is that of its answer."""
        call = frame_number(kind), number
        future = self._futures[call] = asyncio.get_running_loop().create_future()
        try:
            yield future
        finally:
            del self._futures[call]

    def answer(self, frame: Frame) -> None:
        """Answer the calls that a frame belongs to; there is none if it is not an answer, or comes too late."""
        member, kinds = _ANSWERED.get(type(frame), ("", ()))
        for kind in kinds:
            future = self._futures.get((frame_number(kind), getattr(frame, member)))
            if future is not None and not future.done():
                future.set_result(frame)

    def refuse(self, frame: frames.RefusedFrame) -> bool:
        """Fail the call that a router refuses; return whether there is such a call."""
        future = self._futures.get((frame.frame, frame.number))
        if future is None or future.done():
            return False
        future.set_exception(Refused(frame.reason, frame.code))
        return True

    def fail(self, problem: str, restored: Collection[Call]) -> None:
        """Fail all calls, except those that are repeated on a new connection."""
        for call, future in self._futures.items():
            if not future.done() and call not in restored:
                future.set_exception(NotConnected(f"{problem}; no answer arrived"))
