"""Frames of histories: subscriptions that begin in the past, and the state of a history."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from cbnet.network.protocol.fields import MAX_ENTRIES, Number, Part, PredicateText, Seconds
from cbnet.network.protocol.frame import FrameBase, FrameNumber

MAX_HISTORY_AGE = 1e10  # seconds
Age: TypeAlias = Annotated[float, Meta(ge=0, le=MAX_HISTORY_AGE)]


class HistoryStart(Part):
    """Where a subscription begins in a history: at an offset, or some seconds ago; if both are None, at its begin."""

    offset: Number | None = None
    age: Age | None = None
    journal: Number = 0  # that the offset belongs to; 0: that of this router


class Replay(FrameBase, tag=FrameNumber.REPLAY.value):
    """Subscribe to the messages of a router's history, and to those that it will get, in the order of offsets."""

    id: Number
    predicate: PredicateText
    wait: Seconds  # as in `Subscribe`
    window: Annotated[int, Meta(ge=1, le=MAX_ENTRIES)]  # messages sent and not acknowledged, at most
    start: HistoryStart


class Replaying(FrameBase, tag=FrameNumber.REPLAYING.value):
    """Confirmation that a subscription begins in the past."""

    id: Number
    journal: Number  # a random number that identifies the journal with the history
    first: Number  # offset at which it begins
    next: Number  # offset that the next message of the history will have


class HistoryField(Part):
    """The state of a history."""

    predicate: PredicateText
    messages: Number
    bytes: Number
    first: Number  # offset of the oldest message
    next: Number  # offset of the next one
    oldest: float  # time of the oldest message, in seconds since 1970 by the clock of the router; 0: no message
    complete: float  # time since which all messages are kept
    replays: Number  # subscriptions that read it
