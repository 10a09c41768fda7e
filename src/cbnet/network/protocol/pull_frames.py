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
    Frame,
    GatewayPath,
    IdentifiedFrame,
    Keep,
    NodeName,
    Number,
    NumberedFrame,
    NumberedMessage,
    Part,
    Payload,
    Registered,
    RegistrationFrame,
    RequestBytes,
    Seconds,
    Tags,
    TreeNumber,
    UnicastFrame,
)

HolderCount: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_HOLDERS)]
HolderLimit: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_HOLDERS)]
Visited: TypeAlias = Annotated[list[NodeName], Meta(max_length=MAX_VISITED_ROUTERS)]
CacheName: TypeAlias = Annotated[str, Meta(max_length=64)]  # the router whose cache replied; "" for a holder


class StepField(Part):
    """How a router handled a traced request or its reply."""

    router: NodeName
    what: Annotated[str, Meta(max_length=100)]
    network: Annotated[str, Meta(max_length=64)] = ""  # of the router; "" for that of the requester


Steps: TypeAlias = Annotated[list[StepField], Meta(max_length=MAX_STEPS)] | None  # None: not traced


class ItemField(Part):
    """A holder's item: a message, and how many ms it may be cached."""

    attributes: Attributes
    tags: Tags
    payload: Payload
    keep: Keep


class Request(Frame, tag=14):
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


class ReplyFrame(UnicastFrame, tag=15):
    """A holder's reply on its path to the requester's router."""

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


class NoItem(UnicastFrame, tag=16):
    """No holder that was asked has the item, and no other will be asked."""

    incarnation: Number
    number: Number
    tried: Number  # routers with a matching offer
    asked: HolderCount
    steps: Steps = None


# --- client to router


class OfferFrame(RegistrationFrame, tag=26):
    """Register an offer to answer matching requests, or replace the one with this id."""


class Withdraw(IdentifiedFrame, tag=27):
    """Remove an offer."""


class PullFrame(NumberedFrame, tag=28):
    """Request a reply."""

    request: RequestBytes
    timeout: Seconds
    max_holders: HolderLimit
    is_fresh: bool  # no cache may reply
    is_traced: bool


class Answer(NumberedFrame, tag=29):
    """A holder's answer to a `HolderRequest`: an item, or none."""

    item: ItemField | None


# --- router to client


class Offered(Registered, tag=40):
    """Confirmation of an offer."""


class Withdrawn(IdentifiedFrame, tag=41):
    """Confirmation that an offer was removed."""


class HolderRequest(NumberedFrame, tag=42):
    """A request that matches an offer of this client."""

    offer: Number  # its id
    request: RequestBytes


class PullReply(NumberedMessage, tag=43):
    """The reply to a client's request."""

    holder: NodeName  # the holder's router
    cache: CacheName
    age: Number  # ms in caches
    asked: Number  # holders
    steps: Steps


class PullFailure(NumberedFrame, tag=44):
    """No reply to a client's request, or none in time."""

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
