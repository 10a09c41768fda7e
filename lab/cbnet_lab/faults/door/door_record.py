"""The record of a door trial: messages and deliveries, with their contents."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from cbnet.network.client.load_clients import DeliveryCount
from cbnet_lab.bench.network.traffic import Traffic
from cbnet_lab.faults.check.checker import Checker
from cbnet_lab.faults.check.findings import Findings
from cbnet_lab.faults.record import (
    BeginEvent,
    CompareEvent,
    EndEvent,
    PublishEvent,
    ReceiveEvent,
    SettleEvent,
    SubscribeEvent,
)

_PADDING = "." * 200
_PUBLISHER = "publisher"


class DoorRecord:
    """Messages by number, and what reached which subscriber."""

    def __init__(self, traffic: Traffic) -> None:
        self._contents = traffic.contents
        self._checker = Checker(BeginEvent(0.0, 1, 0.0, 0.0, delay=float("inf")))
        for number, predicate in traffic.predicates:
            self._checker.add(SubscribeEvent(0.0, f"s{number}", f"s{number}", "", predicate, kind="plain"))
        self._checker.add(SettleEvent(0.0, 0.0))
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
            for _ in range(members["messages"] or 1):
                self._checker.add(CompareEvent(now, "loss reported", name, True, False))

    def end(self, subscriber: int) -> None:
        """Record the end of the connection of a subscriber."""
        self.ended += 1
        self._checker.add(CompareEvent(time.monotonic(), "connection", f"subscriber {subscriber}", "closed", "open"))

    def compare(self, kind: str, text: str, found: object, expected: object) -> None:
        """Record a part of the state of the router, beside what it must be."""
        self._checker.add(CompareEvent(time.monotonic(), kind, text, found, expected))

    def findings(self) -> Findings:
        """End the record, and return the findings."""
        self._checker.add(EndEvent(time.monotonic(), {}))
        return self._checker.end()
