"""Options of subscriptions: durable ones, and starting points in the past."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final, NamedTuple, TypeAlias

from cbnet.errors import InputError
from cbnet.network.protocol.durable_frames import MAX_ACK_WAIT, MAX_HISTORY_AGE, DurableLimits, HistoryStart
from cbnet.network.protocol.fields import MAX_INT, check_name

ACK_WAIT: Final = 30.0  # seconds
Since: TypeAlias = int | timedelta | str
_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
_DIGITS: Final = len(str(MAX_INT)) + 1  # any number of more digits is too large; Python reads at most 4,300
_HINT: Final = "use an offset, a time such as 90s, 15m, 1h or 2d, or first"


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


def history_start(since: Since) -> HistoryStart:
    """Return the starting point of a subscription: an offset, an age, or, for `first`, the oldest message."""
    if isinstance(since, timedelta):
        return _ago(since.total_seconds(), since)
    if isinstance(since, str):
        return _from_text(since.strip())
    if type(since) is not int:
        raise InputError(f"invalid start {since!r}", hint="use an offset, a timedelta, or a text such as 1h or first")
    if not 1 <= since <= MAX_INT:
        raise InputError(f"invalid offset {since}", hint=f"use a number from 1 to {MAX_INT:,}")
    return HistoryStart(offset=since)


def _from_text(text: str) -> HistoryStart:
    if text == "first":
        return HistoryStart()
    if text.isascii() and text.isdigit():
        return history_start(int(text[:_DIGITS]))
    duration = _DURATION.fullmatch(text)
    if duration is None:
        raise InputError(f"invalid start {text!r}", hint=_HINT)
    return _ago(float(duration[1]) * _SECONDS[duration[2]], text)


def _ago(seconds: float, source: object) -> HistoryStart:
    if not 0 <= seconds <= MAX_HISTORY_AGE:
        raise InputError(f"invalid start {str(source)!r}", hint="use a time in the past")
    return HistoryStart(age=seconds)
