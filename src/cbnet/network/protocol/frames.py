"""All frames of the protocol; docs/reference/protocol.md specifies their bytes.

both directions     Hello  Ping  Pong  Close
between routers     LinkRecord  FilterRecord  FilterChange    link-state records
RecordSummary  RecordRequest              resynchronisation
Packet                                    a message
RecordAck  AckRequest  TraceReport        unicast to one router, hop by hop
Request  ReplyFrame  NoItem               the same: pull
client to router    Subscribe  Unsubscribe  Publish  Trace  SlowPolicy  StatusRequest
OfferFrame  Withdraw  PullFrame  Answer
router to client    Subscribed  Unsubscribed  Published  TracedFrame  TraceEnd  RefusedFrame  Deliver  Lost  Status
Offered  Withdrawn  HolderRequest  PullReply  PullFailure
"""

from __future__ import annotations

from typing import TypeAlias

from cbnet.network.protocol.fields import Branch, Hop, ItemField, Peer, RecordEntry, StepField, TraceMark
from cbnet.network.protocol.link_frames import (
    Close,
    Hello,
    Lost,
    Ping,
    Pong,
    RefusedFrame,
    SlowPolicy,
    Status,
    StatusRequest,
)
from cbnet.network.protocol.message_frames import (
    Deliver,
    Packet,
    Publish,
    Published,
    Subscribe,
    Subscribed,
    Trace,
    TracedFrame,
    TraceEnd,
    TraceReport,
    Unsubscribe,
    Unsubscribed,
)
from cbnet.network.protocol.pull_frames import (
    Answer,
    HolderRequest,
    NoItem,
    Offered,
    OfferFrame,
    PullFailure,
    PullFrame,
    PullReply,
    ReplyFrame,
    Request,
    Withdraw,
    Withdrawn,
)
from cbnet.network.protocol.record_frames import (
    AckRequest,
    FilterChange,
    FilterRecord,
    LinkRecord,
    RecordAck,
    RecordRequest,
    RecordSummary,
)

__all__ = [
    "AckRequest", "Answer", "Branch", "Close", "Deliver", "FilterChange", "FilterRecord", "Frame", "Hello",
    "HolderRequest", "Hop", "ItemField", "LinkRecord", "Lost", "NoItem", "OfferFrame", "Offered", "Packet", "Peer",
    "Ping", "Pong", "Publish", "Published", "PullFailure", "PullFrame", "PullReply", "RecordAck", "RecordEntry",
    "RecordRequest", "RecordSummary", "RefusedFrame", "ReplyFrame", "Request", "SlowPolicy", "Status",
    "StatusRequest", "StepField", "Subscribe", "Subscribed", "Trace", "TraceEnd", "TraceMark", "TraceReport",
    "TracedFrame", "Unsubscribe", "Unsubscribed", "Withdraw", "Withdrawn", "frame_number",
]  # fmt: skip

Frame: TypeAlias = (
    Hello | Ping | Pong | Close
    | LinkRecord | FilterRecord | FilterChange | RecordSummary | RecordRequest
    | Packet | RecordAck | AckRequest | TraceReport | Request | ReplyFrame | NoItem
    | Subscribe | Unsubscribe | Publish | Trace | SlowPolicy | StatusRequest
    | OfferFrame | Withdraw | PullFrame | Answer
    | Subscribed | Unsubscribed | Published | TracedFrame | TraceEnd | RefusedFrame | Deliver | Lost | Status
    | Offered | Withdrawn | HolderRequest | PullReply | PullFailure
)  # fmt: skip


def frame_number(kind: type[Frame]) -> int:
    """Return the number of a kind of frame."""
    number = kind.__struct_config__.tag
    assert isinstance(number, int)
    return number
