"""Starting points of subscriptions in the past, as programs and commands specify them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final, TypeAlias

from cbnet.errors import InputError
from cbnet.network.protocol.durable_frames import MAX_HISTORY_AGE, HistoryStart

Since: TypeAlias = int | timedelta | str
_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
_HINT: Final = "use an offset, a time such as 90s, 15m, 1h or 2d, or first"


def history_start(since: Since) -> HistoryStart:
    """Return the starting point of a subscription: an offset, an age, or, for `first`, the oldest message."""
    if isinstance(since, timedelta):
        return _ago(since.total_seconds(), since)
    if isinstance(since, str):
        return _from_text(since.strip())
    if type(since) is not int:
        raise InputError(f"invalid start {since!r}", hint="use an offset, a timedelta, or a text such as 1h or first")
    if since < 1:
        raise InputError(f"invalid offset {since}", hint="offsets begin with 1")
    return HistoryStart(offset=since)


def _from_text(text: str) -> HistoryStart:
    if text == "first":
        return HistoryStart()
    if text.isascii() and text.isdigit():
        return history_start(int(text))
    duration = _DURATION.fullmatch(text)
    if duration is None:
        raise InputError(f"invalid start {text!r}", hint=_HINT)
    return _ago(float(duration[1]) * _SECONDS[duration[2]], text)


def _ago(seconds: float, source: object) -> HistoryStart:
    if not 0 <= seconds <= MAX_HISTORY_AGE:
        raise InputError(f"invalid start {str(source)!r}", hint="use a time in the past")
    return HistoryStart(age=seconds)
