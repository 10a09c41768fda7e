"""Messages of a durable subscription, which the receiver acknowledges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.msgpack import Decoder

from cbnet._kernels.delivery import Delivery
from cbnet.language.values import RESERVED_NAME
from cbnet.network.protocol.frames import DurableDeliver

_decode = Decoder(tuple[dict[str, Any], list[str], bytes]).decode


class DurableDelivery(Delivery):
    """A message with an offset; until it is acknowledged, it may be redelivered."""

    def __init__(self, frame: DurableDeliver, acknowledge: Callable[[int], None]) -> None:
        message, tags, payload = _decode(frame.content)
        if tags:
            message[RESERVED_NAME] = tags
        super().__init__(message, payload, frame.source, (frame.source, frame.incarnation, frame.number))
        self.offset = frame.offset
        self.deliveries = frame.deliveries  # how often it was sent since the router started
        self._acknowledge = acknowledge

    def acknowledge(self) -> None:
        """Acknowledge the message, so that it is not redelivered; may be called in any thread."""
        self._acknowledge(self.offset)

    def __reduce__(self) -> tuple[Any, ...]:
        return Delivery, (self.message, self.payload, self.source, self.id)
