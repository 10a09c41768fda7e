"""Frames to operate a router: `cbnet reload`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from cbnet.network.protocol.fields import Number, Reason
from cbnet.network.protocol.frame import FrameBase, FrameNumber

MAX_CHANGES = 200


class Reload(FrameBase, tag=FrameNumber.RELOAD.value):
    """Request to read the configuration of the router again."""

    number: Number


class Reloaded(FrameBase, tag=FrameNumber.RELOADED.value):
    """The configuration was read again: what has changed, one text for each key."""

    number: Number
    changes: Annotated[list[Reason], Meta(max_length=MAX_CHANGES)]
