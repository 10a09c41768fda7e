"""Message logs of a home: a durable subscription, or the history of the router."""

from __future__ import annotations

from typing import Protocol

from cbnet.network.durable.journal import ReadResult
from cbnet.network.durable.subscription.backlog import Backlog


class MessageLog(Protocol):
    """Messages with offsets in the journal."""

    backlog: Backlog

    @property
    def id(self) -> int:
        """Its number in the journal."""

    def refusal(self, size: int, /) -> str:
        """Return why a message cannot be stored; empty if it can."""

    def append(self, source: str, incarnation: int, number: int, content: bytes, time: float) -> int:
        """Store a message; return the number of older ones dropped for it."""

    def refuse(self) -> None:
        """Count a message that is not stored and whose publisher is not notified."""

    def written(self, end: int) -> None:
        """Record that all messages before an offset are on disk."""

    def read(self, result: ReadResult) -> None:
        """Handle messages that were read."""

    def deliver(self, now: float, /) -> None:
        """Send messages while clients have room."""

    def expire(self, now: float) -> None:
        """Drop messages that are too old by the wall clock."""

    def check(self, now: float, /) -> None:
        """Do periodic work."""
