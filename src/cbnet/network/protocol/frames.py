"""All frames of the protocol; docs/reference/protocol.md specifies their bytes."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from cbnet.network.protocol.control_frames import (
    Announce,
    AnnounceAck,
    Close,
    Credit,
    GroupField,
    GroupRecord,
    Held,
    Hello,
    LinkField,
    LinkRecord,
    Lost,
    Ping,
    Pong,
    RecordEntry,
    RecordRequest,
    RecordSummary,
    RefusedFrame,
    SlowPolicy,
    StreamAck,
    StreamChange,
    StreamWaiting,
)
from cbnet.network.protocol.durable_frames import (
    Acknowledge,
    DurableDeliver,
    DurableLimits,
    DurableLost,
    DurablePublish,
    DurablePublished,
    DurablePublishedRun,
    DurableSubscribe,
    HistoryStart,
    HomeAck,
    HomeRecord,
    PacketRun,
    Refusals,
    Replay,
    Replaying,
    Stored,
    StoredEntry,
    StoredRun,
)
from cbnet.network.protocol.durable_operation_frames import (
    AccountField,
    DurableField,
    DurableLimit,
    DurableLimited,
    DurableMove,
    DurablePeek,
    DurablePeeked,
    DurablePurge,
    DurableQuery,
    DurableRemove,
    DurableRemoved,
    DurableReport,
    DurableTaken,
    ForgetHome,
    HistoryField,
    JournalBackedUp,
    JournalBackup,
    JournalField,
    StoredField,
)
from cbnet.network.protocol.fields import Frame, Part
from cbnet.network.protocol.message_frames import (
    Branch,
    Deliver,
    DurableMark,
    Hop,
    Packet,
    Publish,
    Published,
    Subscribe,
    Subscribed,
    Trace,
    TracedFrame,
    TraceEnd,
    TraceMark,
    TraceReport,
    Unsubscribe,
    Unsubscribed,
)
from cbnet.network.protocol.operation_frames import (
    FilterPage,
    FilterRequest,
    Inquiry,
    InquiryReport,
    InterfaceStatus,
    InterfaceTable,
    Peer,
    Reload,
    Reloaded,
    Status,
    StatusRequest,
    SubscriptionField,
    SubscriptionList,
    SubscriptionRequest,
    TableRequest,
    TableSummary,
)
from cbnet.network.protocol.pull_frames import (
    Answer,
    HolderRequest,
    ItemField,
    NoItem,
    Offered,
    OfferFrame,
    PullFailure,
    PullFrame,
    PullReply,
    ReplyFrame,
    Request,
    StepField,
    Withdraw,
    Withdrawn,
)

__all__ = [
    "FRAMES", "AccountField", "Acknowledge", "Announce", "AnnounceAck", "Answer", "Branch", "Close", "Credit",
    "Deliver", "DurableDeliver", "DurableField", "DurableLimit", "DurableLimited", "DurableLimits", "DurableLost",
    "DurableMark", "DurableMove", "DurablePeek", "DurablePeeked", "DurablePublish", "DurablePublished",
    "DurablePublishedRun", "DurablePurge", "DurableQuery", "DurableRemove", "DurableRemoved", "DurableReport",
    "DurableSubscribe", "DurableTaken", "FilterPage", "FilterRequest", "ForgetHome", "Frame", "GroupField",
    "GroupRecord", "Held", "Hello", "HistoryField", "HistoryStart", "HolderRequest", "HomeAck", "HomeRecord", "Hop",
    "Inquiry", "InquiryReport", "InterfaceStatus", "InterfaceTable", "ItemField", "JournalBackedUp", "JournalBackup",
    "JournalField", "LinkField", "LinkRecord", "Lost", "NoItem", "OfferFrame", "Offered", "Packet", "PacketRun",
    "Peer", "Ping", "Pong", "Publish", "Published", "PullFailure", "PullFrame", "PullReply", "Record", "RecordEntry",
    "RecordRequest", "RecordSummary", "Refusals", "RefusedFrame", "Reload", "Reloaded", "Replay", "Replaying",
    "ReplyFrame", "Request", "SlowPolicy", "Status", "StatusRequest", "StepField", "Stored", "StoredEntry",
    "StoredField", "StoredRun", "StreamAck", "StreamChange", "StreamWaiting", "Subscribe", "Subscribed",
    "SubscriptionField", "SubscriptionList", "SubscriptionRequest", "TableRequest", "TableSummary", "Trace",
    "TraceEnd", "TraceMark", "TraceReport", "TracedFrame", "Unsubscribe", "Unsubscribed", "Withdraw", "Withdrawn",
    "frame_number", "json_of",
]  # fmt: skip

Record = TypeVar("Record", LinkRecord, HomeRecord, GroupRecord)

FRAMES: Final[tuple[type[Frame], ...]] = (
    # any link
    Hello, Ping, Pong, Close,
    # between routers: link-state records, announcements, messages, unicast to one router
    LinkRecord, RecordSummary, RecordRequest, Announce, AnnounceAck, Held,
    Packet, Credit, Request,
    TraceReport, ReplyFrame, NoItem, Inquiry, InquiryReport,
    HomeRecord, HomeAck, Stored, GroupRecord, PacketRun,
    # client to router
    Subscribe, Unsubscribe, Publish, Trace, SlowPolicy, OfferFrame, Withdraw, PullFrame, Answer,
    StatusRequest, SubscriptionRequest, TableRequest, FilterRequest, Reload,
    DurableSubscribe, Replay, Acknowledge, DurablePublish, DurableQuery, DurableRemove, DurableLimit, ForgetHome,
    DurablePeek, DurableMove, DurablePurge, JournalBackup,
    # router to client
    Subscribed, Unsubscribed, Published, TracedFrame, TraceEnd, RefusedFrame, Deliver, Lost,
    Offered, Withdrawn, HolderRequest, PullReply, PullFailure,
    Status, SubscriptionList, TableSummary, FilterPage, Reloaded,
    DurableDeliver, Replaying, DurableLost, DurablePublished, DurablePublishedRun, DurableReport, DurableRemoved,
    DurableLimited, DurablePeeked, DurableTaken, JournalBackedUp,
)  # fmt: skip


def frame_number(kind: type[Frame]) -> int:
    """Return the number of a kind of frame."""
    number = kind.__struct_config__.tag
    assert isinstance(number, int)
    return number


def json_of(value: Any) -> Any:
    """Return a frame, or any part of one, with objects in place of structs."""
    if isinstance(value, Part):
        return {name: json_of(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {key: json_of(each) for key, each in value.items()}
    if isinstance(value, list):
        return [json_of(each) for each in value]
    return value
