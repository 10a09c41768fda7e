"""The record of a door trial, with the contents of messages and deliveries."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from cbnet.network.client.load_clients import DeliveryCount
from cbnet_lab.bench.network.traffic import Traffic
from cbnet_lab.faults.check.checker import settled_checker
from cbnet_lab.faults.check.findings import Findings
from cbnet_lab.faults.record import CompareEvent, PublishEvent, ReceiveEvent

_PADDING = "." * 200
_PUBLISHER = "publisher"
_DELIVERIES = {  # that are wrong, by the kind of violation
    "lost": "missing", "repeated": "duplicate", "spurious": "spurious", "altered": "altered", "order": "out of order",
    "loss reported": "reported as lost",
}  # fmt: skip


class DoorRecord:
    """Messages by number, and what reached which subscriber."""

    def __init__(self, traffic: Traffic) -> None:
        self._contents = traffic.contents
        self._checker = settled_checker({f"s{number}": predicate for number, predicate in traffic.predicates})
        self.count = DeliveryCount([0])
        self.ended = 0  # connections of subscribers

    def publish(self, number: int) -> dict[str, Any]:
        """Record a message; return its members."""
        content = dict(self._contents[number % len(self._contents)])
        payload = f"{number} {_PADDING}"
        self._checker.add(PublishEvent(time.monotonic(), _PUBLISHER, number, content, payload=payload))
        return {"message": content, "payload": payload}

    def receive(self, subscriber: int, members: Mapping[str, Any]) -> None:
        """Record a message, or a loss that the router reports."""
        now, name = time.monotonic(), f"s{subscriber}"
        if "message" in members:
            payload, content = members.get("payload") or "", {"#": [], **members["message"]}
            number = int(digits) if (digits := payload.split(" ")[0]).isdecimal() else -1
            self._checker.add(ReceiveEvent(now, name, name, 0, 1, _PUBLISHER, number, content, payload))
            self.count.add(0, 1)
        elif "messages" in members:
            self._checker.add(*[CompareEvent(now, "loss reported", name, True, False)] * (members["messages"] or 1))

    def end(self, subscriber: int) -> None:
        """Record the end of the connection of a subscriber."""
        self.ended += 1
        self.compare("connection", f"subscriber {subscriber}", "closed", "open")

    def compare(self, kind: str, text: str, found: object, expected: object) -> None:
        """Record a part of the state of the router, and its expected value."""
        self._checker.add(CompareEvent(time.monotonic(), kind, text, found, expected))

    def findings(self) -> Findings:
        """Return the findings of the whole trial."""
        return self._checker.end()


def delivery_problems(found: Findings) -> Iterator[str]:
    """Yield the violated guarantees: the number of wrong deliveries of each kind, and all others."""
    for kind, texts in found.violations.items():
        if kind in _DELIVERIES:
            yield f"{len(texts):,} deliveries {_DELIVERIES[kind]}"
    for kind, texts in found.violations.items():
        yield from texts if kind not in _DELIVERIES else ()
