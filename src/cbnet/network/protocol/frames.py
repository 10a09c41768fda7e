"""All frames of the protocol; docs/reference/protocol.md specifies their bytes.

both directions     Hello  Ping  Pong  Close
between routers     LinkRecord  RecordSummary  RecordRequest  link-state records
Announce  AnnounceAck  Held               what a router's side of a link wants
Packet  Credit                            a message; how much of them may be sent
TraceReport  ReplyFrame  NoItem  Inquiry  InquiryReport    unicast to one router, hop by hop
Request                                   along a tree, to a holder
client to router    Subscribe  Unsubscribe  Publish  Trace  SlowPolicy  StatusRequest
OfferFrame  Withdraw  PullFrame  Answer  TableRequest  FilterRequest  Reload  SubscriptionRequest
router to client    Subscribed  Unsubscribed  Published  TracedFrame  TraceEnd  RefusedFrame  Deliver  Lost  Status
Offered  Withdrawn  HolderRequest  PullReply  PullFailure  TableSummary  FilterPage  Reloaded  SubscriptionList
durable             HomeRecord  HomeSummary  HomeRequest  HomeAck  Stored          between routers
DurableSubscribe  Acknowledge  DurablePublish  DurableQuery  DurableRemove         to a router
DurableLimit  ForgetHome  Replay                                                   to a router
DurableDeliver  DurablePublished  DurableReport  DurableRemoved  DurableLimited    to a client
DurableLost  Replaying                                                             to a client
"""

from __future__ import annotations

from typing import TypeAlias

from cbnet.network.protocol.durable_frames import (
    Acknowledge,
    DurableDeliver,
    DurableField,
    DurableLimit,
    DurableLimited,
    DurableLimits,
    DurableLost,
    DurablePublish,
    DurablePublished,
    DurableQuery,
    DurableRemove,
    DurableRemoved,
    DurableReport,
    DurableSubscribe,
    ForgetHome,
    HomeAck,
    HomeRecord,
    HomeRequest,
    HomeSummary,
    Stored,
    StoredEntry,
)
from cbnet.network.protocol.fields import (
    Branch,
    DurableMark,
    Hop,
    InterfaceStatus,
    ItemField,
    LinkField,
    Peer,
    RecordEntry,
    StepField,
    StreamAck,
    StreamChange,
    StreamWaiting,
    TraceMark,
)
from cbnet.network.protocol.history_frames import HistoryField, HistoryStart, Replay, Replaying
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
from cbnet.network.protocol.operation_frames import (
    FilterPage,
    FilterRequest,
    Inquiry,
    InquiryReport,
    InterfaceTable,
    Reload,
    Reloaded,
    SubscriptionField,
    SubscriptionList,
    SubscriptionRequest,
    TableRequest,
    TableSummary,
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
from cbnet.network.protocol.router_frames import (
    Announce,
    AnnounceAck,
    Credit,
    Held,
    LinkRecord,
    RecordRequest,
    RecordSummary,
)

__all__ = [
    "Acknowledge", "Announce", "AnnounceAck", "Answer", "Branch", "Close", "Credit", "Deliver", "DurableDeliver",
    "DurableField", "DurableLimit", "DurableLimited", "DurableLimits", "DurableLost", "DurableMark", "DurablePublish",
    "DurablePublished", "DurableQuery", "DurableRemove", "DurableRemoved", "DurableReport", "DurableSubscribe",
    "FilterPage", "FilterRequest", "ForgetHome", "Frame", "Held", "Hello", "HistoryField", "HistoryStart",
    "HolderRequest", "HomeAck", "HomeRecord", "HomeRequest", "HomeSummary", "Hop", "Inquiry", "InquiryReport",
    "InterfaceStatus", "InterfaceTable", "ItemField", "LinkField", "LinkRecord", "Lost", "NoItem", "OfferFrame",
    "Offered", "Packet", "Peer", "Ping", "Pong", "Publish", "Published", "PullFailure", "PullFrame", "PullReply",
    "RecordEntry", "RecordRequest", "RecordSummary", "RefusedFrame", "Reload", "Reloaded", "Replay", "Replaying",
    "ReplyFrame", "Request", "SlowPolicy", "Status", "StatusRequest", "StepField", "Stored", "StoredEntry", "StreamAck",
    "StreamChange", "StreamWaiting", "Subscribe", "Subscribed", "SubscriptionField", "SubscriptionList",
    "SubscriptionRequest", "TableRequest", "TableSummary", "Trace", "TraceEnd", "TraceMark", "TraceReport",
    "TracedFrame", "Unsubscribe", "Unsubscribed", "Withdraw", "Withdrawn", "frame_number",
]  # fmt: skip

Frame: TypeAlias = (
    Hello | Ping | Pong | Close
    | LinkRecord | RecordSummary | RecordRequest | Announce | AnnounceAck | Held
    | Packet | Credit | TraceReport | Request | ReplyFrame | NoItem | Inquiry | InquiryReport
    | Subscribe | Unsubscribe | Publish | Trace | SlowPolicy | StatusRequest
    | OfferFrame | Withdraw | PullFrame | Answer
    | Subscribed | Unsubscribed | Published | TracedFrame | TraceEnd | RefusedFrame | Deliver | Lost | Status
    | Offered | Withdrawn | HolderRequest | PullReply | PullFailure
    | TableRequest | FilterRequest | TableSummary | FilterPage
    | HomeRecord | HomeSummary | HomeRequest | HomeAck | Stored
    | DurableSubscribe | Acknowledge | DurablePublish | DurableQuery | DurableRemove | DurableLimit
    | ForgetHome | Replay
    | DurableDeliver | DurablePublished | DurableReport | DurableRemoved | DurableLimited | DurableLost | Replaying
    | Reload | Reloaded | SubscriptionRequest | SubscriptionList
)  # fmt: skip


def frame_number(kind: type[Frame]) -> int:
    """Return the number of a kind of frame."""
    number = kind.__struct_config__.tag
    assert isinstance(number, int)
    return number
