"""Frames to ask any router of a network, through another one, about its status and its subscriptions."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from cbnet.network.protocol.fields import Hops, NodeName, Number, OptionalName, Part
from cbnet.network.protocol.frame import FrameBase, FrameNumber
from cbnet.network.protocol.link_frames import Status

MAX_LISTED = 200  # subscriptions
MAX_LISTED_LENGTH = 2_000  # characters of one predicate


class SubscriptionField(Part):
    """A subscription at a router."""

    subscriber: Annotated[str, Meta(max_length=64)]  # name of the client, or another one of `InternalSubscriber`
    id: Number
    predicate: Annotated[str, Meta(max_length=MAX_LISTED_LENGTH)]
    is_whole: bool  # whether the predicate is not shortened


class SubscriptionRequest(FrameBase, tag=FrameNumber.SUBSCRIPTION_REQUEST.value):
    """Request for the subscriptions at a router."""

    number: Number
    at: OptionalName  # the router; empty: the one that the client is linked to


class SubscriptionList(FrameBase, tag=FrameNumber.SUBSCRIPTION_LIST.value):
    """The first subscriptions at a router."""

    number: Number
    router: NodeName
    subscriptions: Annotated[list[SubscriptionField], Meta(max_length=MAX_LISTED)]
    total: Number  # of all


# --- between routers


class Inquiry(FrameBase, tag=FrameNumber.INQUIRY.value):
    """A request for the status or the subscriptions of another router."""

    to: NodeName
    hops: Hops
    source: NodeName  # the router that receives the report
    number: Number  # chosen by the source, for the report
    subject: Literal["status", "subscriptions"]


class InquiryReport(FrameBase, tag=FrameNumber.INQUIRY_REPORT.value):
    """The answer to an inquiry."""

    to: NodeName
    hops: Hops
    number: Number  # of the inquiry
    report: Status | SubscriptionList
