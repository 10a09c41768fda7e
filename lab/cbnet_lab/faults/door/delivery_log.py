"""The log of deliveries to all subscribers of the door benchmark, each compared with the message that was published."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbnet.network.client.load_clients import DeliveryCount
from cbnet_lab.faults.door.door_traffic import PAYLOAD

NUMBER = "n"  # attribute with the number of a message


class DeliveryLog:
    """Which message reached which subscriber, in order."""

    def __init__(self, contents: Sequence[Mapping[str, Any]], subscribers: int) -> None:
        self._contents = contents
        self._received = [array("q") for _ in range(subscribers)]
        self.count = DeliveryCount([0])
        self.altered = 0  # deliveries whose content or payload differs from what was published
        self.lost = 0  # messages that the router reports as dropped
        self.ended: list[str] = []  # why connections of subscribers ended

    def content(self, number: int) -> dict[str, Any]:
        """Return the attributes of a message."""
        return {**self._contents[number % len(self._contents)], NUMBER: number}

    def note(self, subscriber: int, members: Mapping[str, Any]) -> None:
        """Record a delivery."""
        message = members["message"]
        number = message.get(NUMBER, -1)
        if number < 0 or {"#": [], **message} != self.content(number) or members.get("payload") != PAYLOAD:
            self.altered += 1
        self._received[subscriber].append(number)
        self.count.add(0, 1)

    @property
    def subscribers(self) -> NDArray[np.int64]:
        """The subscriber of each delivery."""
        return np.repeat(np.arange(len(self._received)), [len(each) for each in self._received])

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The number of the message of each delivery."""
        return np.concatenate([np.frombuffer(each, np.int64) for each in self._received])

    @property
    def reordered(self) -> int:
        """The number of deliveries after one of a later message."""
        return sum(later < earlier for each in self._received for earlier, later in pairwise(each))
