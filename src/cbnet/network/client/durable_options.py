"""Options of durable subscriptions."""

from __future__ import annotations

from typing import NamedTuple

from cbnet.errors import InputError
from cbnet.network.protocol.durable_frames import MAX_ACK_WAIT, DurableLimits
from cbnet.network.protocol.fields import check_name

ACK_WAIT = 30.0  # seconds


class DurableOptions(NamedTuple):
    """Name and limits of a durable subscription, and the seconds before an unacknowledged message is redelivered."""

    name: str
    ack_wait: float
    limits: DurableLimits | None


def durable_options(name: str, ack_wait: float | None, limits: DurableLimits | None) -> DurableOptions | None:
    """Return the options of a durable subscription; None without a name, which allows no other options."""
    if not name:
        for option, value in (("ack_wait", ack_wait), ("limits", limits)):
            if value is not None:
                raise InputError(f"`{option}` needs a durable subscription", hint='add durable="NAME", or leave it out')
        return None
    check_name("durable subscription", name)
    if ack_wait is not None and not 0 < ack_wait <= MAX_ACK_WAIT:
        raise InputError(f"invalid ack_wait {ack_wait:g}", hint=f"use more than 0 and at most {MAX_ACK_WAIT:,} seconds")
    return DurableOptions(name, ACK_WAIT if ack_wait is None else ack_wait, limits)
