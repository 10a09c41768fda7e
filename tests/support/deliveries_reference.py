"""Deliveries to a client in plain Python: every frame is decoded, and each message is taken once by a subscription."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from support.duplicates_reference import Duplicates

from cbnet.network.protocol.frames import Deliver

Content = tuple[dict[str, Any], bytes, str, tuple[str, int, int]]


class DeliveryReference:
    """What the subscriptions of a client have received."""

    def __init__(self) -> None:
        self.received: dict[int, list[Content]] = defaultdict(list)
        self._known = Duplicates()
        self._last: tuple[str, int, int] | None = None
        self._receivers: set[int] = set()  # of the last message

    def add(self, frame: Deliver) -> None:
        """Add a frame."""
        id = frame.source, frame.incarnation, frame.number
        is_new = self._known.is_new(frame.source, frame.incarnation, 0, frame.number)
        if id != self._last:
            if not is_new:
                return
            self._last, self._receivers = id, set()
        message = {**frame.attributes, "#": frame.tags} if frame.tags else frame.attributes
        for subscription in frame.subscriptions:
            if subscription not in self._receivers:
                self._receivers.add(subscription)
                self.received[subscription].append((message, frame.payload, frame.source, id))
