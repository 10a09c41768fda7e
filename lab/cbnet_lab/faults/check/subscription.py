"""The common base of the checks of all kinds of subscriptions."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache, lru_cache
from math import inf
from typing import Any

import msgspec

from cbnet.language.message import Message
from cbnet.language.syntax.parser import parse
from cbnet_lab.faults.check.findings import Findings
from cbnet_lab.faults.record import FaultEvent, PublishEvent, ReceiveEvent, SubscribeEvent

_AWAY = ("leave", "leave silently")  # faults that disconnect a client until they end
_parse = cache(parse)


class SubscriptionCheck:
    """A subscription: its predicate, home and clients."""

    def __init__(self, first: SubscribeEvent, findings: Findings, group: Collection[str] = ()) -> None:
        """Initialise; group: the routers that may hold its home, if they are several."""
        self.name = first.subscription
        self.home = first.home
        self.routers = frozenset((first.home, *group))
        self.since = first.at
        self.confirmed = inf  # time when all routers had confirmed it
        self.findings = findings
        self.parts = {*self.routers}  # routers and clients whose faults affect it
        self.is_live = True
        self.is_away = False
        self.predicate = first.predicate

    def fault(self, event: FaultEvent) -> None:
        """Handle a fault."""
        if event.kind in _AWAY and event.of in self.parts:
            self.is_away = not event.is_end

    def matches(self, message: dict[str, Any]) -> bool:
        """Return whether it matches a message."""
        return matches(self.predicate, msgspec.json.encode(message))

    def is_due(self, event: ReceiveEvent, publish: PublishEvent | None) -> bool:
        """Return whether a received message was published and matches; otherwise add a violation."""
        if publish is not None and self.matches(publish.message):
            return True
        cause = "was not published" if publish is None else "does not match"
        self.findings.violate("spurious", f"{self.text(event)}, {cause}")
        return False

    def text(self, event: ReceiveEvent) -> str:
        """Return the description of a received message."""
        return f"{self.name}, offset {event.offset}: {event.publisher} {event.number}, at {event.at:.2f}"


@lru_cache(maxsize=1 << 20)
def matches(predicate: str, message: bytes) -> bool:
    """Return whether a predicate matches a message in JSON."""
    return _parse(predicate).matches(_message(message))


@lru_cache(maxsize=1 << 16)
def _message(text: bytes) -> Message:
    return Message.from_dict(msgspec.json.decode(text))
