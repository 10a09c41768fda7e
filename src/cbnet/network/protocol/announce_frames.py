"""Frames of announcements: changes of streams, and their acknowledgement."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from cbnet.network.protocol.fields import (
    MAX_FRAME_STREAMS,
    MAX_HELD,
    ContentDigest,
    Filters,
    Number,
    StreamAck,
    StreamChange,
    StreamWaiting,
)
from cbnet.network.protocol.frame import FrameBase, FrameNumber


class Announce(FrameBase, tag=FrameNumber.ANNOUNCE.value):
    """Changes of streams; a filter that several streams need is there once.

    A change names filters by their index: those of subscriptions first, then those of offers.
    """

    filters: Filters  # of subscriptions
    offers: Filters
    changes: Annotated[list[StreamChange], Meta(max_length=MAX_FRAME_STREAMS)]
    ended: Annotated[list[Number], Meta(max_length=MAX_FRAME_STREAMS)]  # streams, after the changes


class Held(FrameBase, tag=FrameNumber.HELD.value):
    """Contents of the receiver's streams that the sender still has from before this session."""

    contents: Annotated[list[ContentDigest], Meta(max_length=MAX_HELD)]


class AnnounceAck(FrameBase, tag=FrameNumber.ANNOUNCE_ACK.value):
    """Acknowledgements of changes, and what others are waiting for."""

    acks: Annotated[list[StreamAck], Meta(max_length=MAX_FRAME_STREAMS)]
    waiting: Annotated[list[StreamWaiting], Meta(max_length=MAX_FRAME_STREAMS)] = []  # noqa: RUF012  # msgspec copies it
