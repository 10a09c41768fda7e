"""Times and durations: text such as `2026-11-15T22:44:32Z` and `3d`, as nanoseconds.

A time is the number of nanoseconds since 1970-01-01T00:00:00Z, so a difference of times is a duration. It is an int if
it fits in 64 bits, which it does from 1677 to 2262, else the nearest float. The kernel `time_text` reads the same.
"""

from __future__ import annotations

import re
from datetime import date

from cbnet.language.values import INT_MAX, INT_MIN

_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?(?:[Zz]|([+-][0-9]{2}):([0-9]{2}))?)?"
)
_DURATION = re.compile(r"(-?(?:0|[1-9][0-9]*))(ms|s|m|h|d)")
_UNITS = {"d": 86_400 * 10**9, "h": 3_600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6}  # the largest first
_EPOCH = date(1970, 1, 1).toordinal()


def nanoseconds(text: str) -> int | float | None:
    """Return the time of a text; None if it is not a time. One without a zone is in UTC, a date is midnight."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    offset_hours, offset_minutes = int(match[8] or 0), int(match[9] or 0)
    if hour > 23 or max(minute, second, offset_minutes) > 59 or abs(offset_hours) > 23:
        return None
    try:
        days = date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None
    offset = abs(offset_hours) * 60 + offset_minutes
    minutes = (days * 24 + hour) * 60 + minute - (-offset if (match[8] or "").startswith("-") else offset)
    total = (minutes * 60 + second) * 10**9 + int((match[7] or "").ljust(9, "0"))
    return total if INT_MIN <= total <= INT_MAX else float(total)


def time_text(time: int) -> str | None:
    """Return the text of a time, in UTC with nine digits; None outside the years 1 to 9999."""
    days, rest = divmod(time, _UNITS["d"])
    if not 1 <= days + _EPOCH <= date.max.toordinal():
        return None
    seconds, fraction = divmod(rest, 10**9)
    day = date.fromordinal(days + _EPOCH)
    return f"{day.isoformat()}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:09}Z"


def read_duration(text: str) -> int | None:
    """Return the nanoseconds of a text such as `3d`; None if it is not a duration."""
    match = _DURATION.fullmatch(text)
    return int(match[1]) * _UNITS[match[2]] if match else None


def duration_text(value: object) -> str | None:
    """Return the text of whole milliseconds in the largest unit; None of any other value."""
    if not isinstance(value, int) or isinstance(value, bool) or value == 0:
        return None
    unit = next((unit for unit, size in _UNITS.items() if value % size == 0), None)
    return None if unit is None else f"{value // _UNITS[unit]}{unit}"
