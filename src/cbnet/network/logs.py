"""Logs: how is it told what happens at a router? One line for each event, for people or as JSON.

    text    2026-01-31T09:00:00.123Z info    link up        name=b role=router address=127.0.0.1:4002
    json    {"time":"2026-01-31T09:00:00.123Z","level":"info","router":"a","event":"link up","name":"b",...}

An event has a name, and members with their values. Names that others chose are quoted where they could be taken for
something else, so that nobody writes lines into the log of another. Of many events with one name in a second the first
are written, and how many were left out.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

_log = logging.getLogger("cbnet.network")
_log.addHandler(logging.NullHandler())  # a program that uses cbnet decides by itself what it logs
_MOST = 20  # lines of one event in a second


def log(level: int, event: str, **members: Any) -> None:
    """Tell that something has happened."""
    _log.log(level, event, extra={"members": members})


def configure(form: str, level: str, router: str, stream: TextIO | None = None) -> None:
    """Write the events of this process, and what libraries log, to standard error."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(router) if form == "json" else Text())
    handler.addFilter(Limit())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


class Text(logging.Formatter):
    """Events as people read them."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        members = " ".join(f"{name}={_shown(value)}" for name, value in _members(record).items())
        event = _event(record)
        return f"{_time(record)} {record.levelname.lower():<7} {event:<14} {members}".rstrip()


class JsonLines(logging.Formatter):
    """Events as programs read them."""

    def __init__(self, router: str) -> None:
        super().__init__()
        self._router = router

    def format(self, record: logging.LogRecord) -> str:
        """Return one JSON object."""
        first = {"time": _time(record), "level": record.levelname.lower(), "router": self._router}
        row = {**first, "event": _event(record), **_members(record)}
        return json.dumps(row, separators=(",", ":"), default=str)


class Limit(logging.Filter):
    """Lets some events of one name pass in every second, and counts the others."""

    def __init__(self) -> None:
        super().__init__()
        self._passed: dict[str, tuple[int, int]] = {}  # event -> which second, how many

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether an event is written; one that is may tell of those before it that were not."""
        second = int(record.created)
        kind = record.msg if hasattr(record, "members") else record.name  # libraries write all sorts of texts
        last, count = self._passed.get(kind, (second, 0))
        left_out = 0
        if last != second:
            left_out, count = max(0, count - _MOST), 0
        self._passed[kind] = second, count + 1
        if left_out and hasattr(record, "members"):
            record.members = {**record.members, "left_out": left_out}
        return count < _MOST


def _event(record: logging.LogRecord) -> str:
    return record.getMessage() if hasattr(record, "members") else "remark"


def _members(record: logging.LogRecord) -> dict[str, Any]:
    members: dict[str, Any] = dict(getattr(record, "members", None) or {})
    if not hasattr(record, "members"):  # a text of a library, or of another part of cbnet
        members["text"] = record.getMessage()
    if record.exc_info:
        members["error"] = logging.Formatter().formatException(record.exc_info)
    return members


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(value: object) -> str:
    return _plain(value) if isinstance(value, str) else json.dumps(value, default=str)


def _plain(text: str) -> str:
    """Return a text as it is, or in quotes if somebody could mistake it."""
    return text if text and text.isprintable() and not set(text) & set(' "=') else json.dumps(text)
