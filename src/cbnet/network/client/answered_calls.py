"""The calls of a client that each kind of answer from a router may belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from cbnet.network.protocol import frames
from cbnet.network.protocol.frames import Frame

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
    frames.Reloaded: ("number", (frames.Reload,)),
}


def answered_calls(frame: Frame) -> Iterator[tuple[type[Frame], int]]:
    """Yield the types of frames that a frame may answer, each with its id or number; none if it is not an answer."""
    member, kinds = _ANSWERED.get(type(frame), ("", ()))
    for kind in kinds:
        yield kind, getattr(frame, member)
