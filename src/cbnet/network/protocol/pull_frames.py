"""Frames of pull: requests and replies between routers, offers and pulls of clients."""

from __future__ import annotations

from typing import Annotated, TypeAlias, TypeVar

from msgspec import Meta
from msgspec.structs import replace

from cbnet.network.protocol.fields import (
    MAX_HOLDERS,
    MAX_STEPS,
    MAX_VISITED_ROUTERS,
    Attributes,
    GatewayPath,
    Hops,
    ItemField,
    Keep,
    NodeName,
    Number,
    Payload,
    PredicateText,
    RequestBytes,
    Seconds,
    StepField,
    Steps,
    Tags,
    TreeNumber,
    Unanswered,
)
from cbnet.network.protocol.frame import FrameBase, FrameNumber

HolderCount: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_HOLDERS)]
HolderLimit: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_HOLDERS)]
Visited: TypeAlias = Annotated[list[NodeName], Meta(max_length=MAX_VISITED_ROUTERS)]
CacheName: TypeAlias = Annotated[str, Meta(max_length=64)]  # the router whose cache replied; "" for a holder


class Request(FrameBase, tag=FrameNumber.REQUEST.value):
    """A request on its way along a tree to a holder."""

    source: NodeName  # the requester's router; with incarnation and number the locator for the reply
    incarnation: Number
    number: Number
    request: RequestBytes
    tree: TreeNumber
    visited: Visited  # routers, which are not visited again
    path: Visited  # the way back
    tried: Number  # routers with a matching offer
    asked: HolderCount  # holders that lack the item
    max_holders: HolderLimit
    timeout: Number  # ms until the requester stops waiting
    is_fresh: bool  # no cache may reply
    steps: Steps = None
    # Those that have taken it from one domain to another, and do not take it again.
    gateways: GatewayPath = []  # noqa: RUF012  # msgspec copies it for each frame


class ReplyFrame(FrameBase, tag=FrameNumber.REPLY.value):
    """A holder's reply on its path to the requester's router."""

    to: NodeName
    hops: Hops
    incarnation: Number
    number: Number
    request: RequestBytes
    attributes: Attributes
    tags: Tags
    payload: Payload
    holder: NodeName  # the holder's router
    cache: CacheName
    age: Number  # ms in caches
    keep: Keep
    asked: HolderCount  # holders asked for this request
    steps: Steps = None


class NoItem(FrameBase, tag=FrameNumber.NO_ITEM.value):
    """No holder that was asked has the item, and no other will be asked."""

    to: NodeName
    hops: Hops
    incarnation: Number
    number: Number
    tried: Number  # routers with a matching offer
    asked: HolderCount
    steps: Steps = None


# --- client to router


class OfferFrame(FrameBase, tag=FrameNumber.OFFER.value):
    """Register an offer to answer matching requests, or replace the one with this id."""

    id: Number
    predicate: PredicateText
    wait: Seconds  # timeout for confirmation by all routers; 0: do not wait


class Withdraw(FrameBase, tag=FrameNumber.WITHDRAW.value):
    """Remove an offer."""

    id: Number


class PullFrame(FrameBase, tag=FrameNumber.PULL.value):
    """Request a reply."""

    number: Number
    request: RequestBytes
    timeout: Seconds
    max_holders: HolderLimit
    is_fresh: bool  # no cache may reply
    is_traced: bool


class Answer(FrameBase, tag=FrameNumber.ANSWER.value):
    """A holder's answer to a `HolderRequest`: an item, or none."""

    number: Number
    item: ItemField | None


# --- router to client


class Offered(FrameBase, tag=FrameNumber.OFFERED.value):
    """Confirmation of an offer; if the client waits, whether every reachable router that must know it does."""

    id: Number
    is_confirmed: bool
    routers: Number  # reachable, including this one
    missing: Unanswered


class Withdrawn(FrameBase, tag=FrameNumber.WITHDRAWN.value):
    """Confirmation that an offer was removed."""

    id: Number


class HolderRequest(FrameBase, tag=FrameNumber.HOLDER_REQUEST.value):
    """A request that matches an offer of this client."""

    number: Number
    offer: Number  # its id
    request: RequestBytes


class PullReply(FrameBase, tag=FrameNumber.PULL_REPLY.value):
    """The reply to a client's request."""

    number: Number
    attributes: Attributes
    tags: Tags
    payload: Payload
    holder: NodeName  # the holder's router
    cache: CacheName
    age: Number  # ms in caches
    asked: Number  # holders
    steps: Steps


class PullFailure(FrameBase, tag=FrameNumber.PULL_FAILURE.value):
    """No reply to a client's request, or none in time."""

    number: Number
    is_late: bool
    tried: Number  # routers with a matching offer
    asked: Number  # holders
    steps: Steps


PullMessage = TypeVar("PullMessage", Request, ReplyFrame, NoItem)
REPLY_STEP = "reply received"  # the step of every router on the path of a reply
_MAX_STEP_LENGTH = 100


def with_step(frame: PullMessage, router: str, what: str) -> PullMessage:
    """Return a frame with a router's step appended, if it is traced: routers keep no state per request."""
    before: list[StepField] | None = frame.steps
    if before is None or len(before) >= MAX_STEPS:
        return frame
    text = what if len(what) <= _MAX_STEP_LENGTH else what[: _MAX_STEP_LENGTH - 1] + "…"
    return replace(frame, steps=before + [StepField(router, text)])  # noqa: RUF005
