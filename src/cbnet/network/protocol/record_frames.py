"""Frames of link-state flooding: records, their summaries and requests."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from cbnet.network.protocol.fields import MAX_ENTRIES, GatewayPath, Neighbours, NodeName, Number, RecordEntry
from cbnet.network.protocol.frame import FrameBase, FrameNumber


class LinkRecord(FrameBase, tag=FrameNumber.LINK_RECORD.value):
    """A router's links: its neighbours, with the length of the link to each and its sessions."""

    owner: NodeName
    life: Number
    sequence: Number
    changes: Number  # of the links in this life; a renewal changes nothing
    age: Number  # ms
    neighbours: Neighbours
    # Of a gateway: the path from the root of the gateway tree to itself; see `gateway_tree`.
    path: GatewayPath = []  # noqa: RUF012  # msgspec copies it for each frame


class RecordSummary(FrameBase, tag=FrameNumber.RECORD_SUMMARY.value):
    """The versions of records that a router has."""

    entries: Annotated[list[RecordEntry], Meta(max_length=MAX_ENTRIES)]


class RecordRequest(FrameBase, tag=FrameNumber.RECORD_REQUEST.value):
    """Records that a router lacks; only the owners of the entries count."""

    entries: Annotated[list[RecordEntry], Meta(max_length=MAX_ENTRIES)]
