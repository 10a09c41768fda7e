"""Log lines of a router: one per event, as text or JSON.

    text    2026-01-31T09:00:00.123Z info    link up        name=b role=router address=127.0.0.1:4002
    json    {"time":"2026-01-31T09:00:00.123Z","level":"info","router":"a","event":"link up","name":"b",...}

Values chosen by peers are quoted where they could be misread, so that a peer cannot forge log lines. At most 20 events
of one name are written per second; the number suppressed is logged. A thread of its own writes the lines, so a pipe
that nobody reads cannot stop the router; lines that do not fit in the queue are lost, and counted in a line.

The audit log is a separate JSON file: refusals, with peer, operation and reason; and what clients with the right
`manage` have changed. Its limit is 100 refusals per second of each client, or of each address of unknown clients, so
that none can hide those of others; there is none for changes.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from queue import Full, Queue
from threading import Thread
from typing import Any, TextIO

from cbnet.files import unwritable

_log = logging.getLogger("cbnet.network")
_log.addHandler(logging.NullHandler())  # a program that uses cbnet configures logging itself
_audit = logging.getLogger("cbnet.audit")
_audit.addHandler(logging.NullHandler())
_audit.propagate = False
_MAX_PER_SECOND = 20  # lines of one event
_MAX_AUDITED_PER_SECOND = 100  # lines of one client
_MAX_KINDS = 10_000  # of lines that are counted apart
_MAX_QUEUED = 1_000  # lines
_CHANGED = "changed"  # event of the audit log
_LINGER = 1.0  # seconds for the last lines to be written


def log(level: int, event: str, **members: Any) -> None:
    """Log an event."""
    _log.log(level, event, extra={"members": members})


def configure(form: str, level: str, router: str) -> None:
    """Write the events of this process, and the log records of libraries, to standard error."""
    handler = BackgroundHandler(sys.stderr) if sys.stderr else logging.NullHandler()
    handler.setFormatter(JsonLines(router) if form == "json" else Text())
    handler.addFilter(RateLimit())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def audit(operation: str, reason: str, *, client: str, address: str) -> None:
    """Record that a client, router or unknown peer was refused something, if there is an audit log."""
    _write_audit("refused", client=client, address=address, operation=operation, reason=reason)


def audit_change(operation: str, *, client: str, address: str, **changed: Any) -> None:
    """Record that a client has changed what belongs to others, if there is an audit log."""
    _write_audit(_CHANGED, client=client, address=address, operation=operation, **changed)


def _write_audit(event: str, **members: Any) -> None:
    if _audit.isEnabledFor(logging.INFO):
        _audit.info(event, extra={"members": members})


def open_audit_log(path: str, router: str) -> logging.Handler:
    """Open the file of an audit log, to append to it; an empty path: none."""
    if not path:
        return logging.NullHandler()
    try:
        handler = AuditFile(Path(path).open("a", encoding="utf-8"))  # noqa: SIM115  # stays open
    except OSError as error:
        raise unwritable(path, error) from None
    handler.setFormatter(JsonLines(router))
    handler.addFilter(AuditLimit())
    return handler


def use_audit_log(handler: logging.Handler) -> None:
    """Write refusals to an audit log from now on, and close the one before."""
    before = _audit.handlers[:]
    _audit.addHandler(handler)
    _audit.setLevel(logging.WARNING if isinstance(handler, logging.NullHandler) else logging.INFO)
    for each in before:
        _audit.removeHandler(each)
        each.close()


def set_level(level: str) -> None:
    """Write events of this level and above, if `configure` was called."""
    if any(isinstance(handler, BackgroundHandler) for handler in logging.getLogger().handlers):
        logging.getLogger().setLevel(level.upper())


class BackgroundHandler(logging.Handler):
    """Writes lines to a file in a thread of its own; never waits for it."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        stream.flush()
        self._stream = stream  # stays open
        self._file = stream.fileno()
        self._lines: Queue[bytes | None] = Queue(_MAX_QUEUED)
        self._lost = 0
        self._thread = Thread(target=self._write, name="cbnet-log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a line, with the number of lines lost before it."""
        if self._lost and self._put(_lost_lines(self._lost)):
            self._lost = 0
        self._lost += not self._put(record)

    def close(self) -> None:
        """Write the queued lines, if that does not take long."""
        super().close()
        try:
            self._lines.put_nowait(None)
        except Full:
            return
        self._thread.join(_LINGER)

    def _put(self, record: logging.LogRecord) -> bool:
        try:
            self._lines.put_nowait(f"{self.format(record)}\n".encode(errors="backslashreplace"))
        except Full:
            return False
        return True

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                while line:
                    line = line[os.write(self._file, line) :]
            except OSError:  # nobody will read it
                continue


class AuditFile(BackgroundHandler):
    """The file of an audit log."""

    def close(self) -> None:
        """Write the queued lines, if that does not take long, and close the file."""
        super().close()
        if not self._thread.is_alive():
            self._stream.close()


class Text(logging.Formatter):
    """Formatter for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        members = " ".join(f"{name}={_quoted(value)}" for name, value in _members(record).items())
        event = _event(record)
        return f"{_time(record)} {record.levelname.lower():<7} {event:<14} {members}".rstrip()


class JsonLines(logging.Formatter):
    """Formatter for programs."""

    def __init__(self, router: str) -> None:
        super().__init__()
        self._router = router

    def format(self, record: logging.LogRecord) -> str:
        """Return one JSON object."""
        first = {"time": _time(record), "level": record.levelname.lower(), "router": self._router}
        row = {**first, "event": _event(record), **_members(record)}
        return json.dumps(row, separators=(",", ":"), default=str)


class RateLimit(logging.Filter):
    """Pass a limited number of events of each name per second, and count the others."""

    most = _MAX_PER_SECOND

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, tuple[int, int]] = {}  # kind -> second, count in it

    def kind(self, record: logging.LogRecord) -> str:
        """Return what is counted apart: the events of one name."""
        return record.msg if hasattr(record, "members") else record.name  # messages of libraries vary

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether an event is written; the first of a second gets the number suppressed before."""
        second = int(record.created)
        kind = self.kind(record)
        if len(self._counts) > _MAX_KINDS:
            self._counts.clear()
        last, count = self._counts.get(kind, (second, 0))
        suppressed = 0
        if last != second:
            suppressed, count = max(0, count - self.most), 0
        self._counts[kind] = second, count + 1
        if suppressed and hasattr(record, "members"):
            record.members = {**record.members, "suppressed": suppressed}
        return count < self.most


class AuditLimit(RateLimit):
    """Pass all changes, and a limited number of refusals of each client, or of each unknown address, per second."""

    most = _MAX_AUDITED_PER_SECOND

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is written."""
        return record.msg == _CHANGED or super().filter(record)

    def kind(self, record: logging.LogRecord) -> str:
        """Return the client, or the host."""
        members = _members(record)
        return str(members["client"] or members["address"].rpartition(":")[0])


def _lost_lines(count: int) -> logging.LogRecord:
    record = _log.makeRecord(_log.name, logging.WARNING, "", 0, "log lines lost", (), None)
    record.members = {"count": count}
    return record


def _event(record: logging.LogRecord) -> str:
    return record.getMessage() if hasattr(record, "members") else "log"


def _members(record: logging.LogRecord) -> dict[str, Any]:
    members: dict[str, Any] = dict(getattr(record, "members", None) or {})
    if not hasattr(record, "members"):  # logged by a library, or by another part of cbnet
        members["text"] = record.getMessage()
    if record.exc_info:
        members["error"] = logging.Formatter().formatException(record.exc_info)
    return members


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _quoted(value: object) -> str:
    return _plain(value) if isinstance(value, str) else json.dumps(value, default=str)


def _plain(text: str) -> str:
    """Return a text unchanged, or in quotes if it could be misread."""
    return text if text and text.isprintable() and not set(text) & set(' "=') else json.dumps(text)
