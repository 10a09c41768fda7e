"""Numbers of a client's durable messages, and the unanswered messages, which are resent to a new router.

A message keeps its number however often it is sent, so that homes store it once. All messages below the lowest
unanswered number are settled; at most `WINDOW` numbers from there on are in use.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from cbnet.network.durable.storing.publisher_window import WINDOW
from cbnet.network.protocol.fields import MAX_SECONDS
from cbnet.network.protocol.frames import DurablePublish

MAX_UNANSWERED = 1 << 24  # bytes of unanswered payloads, beyond which no further message is published


@dataclass
class _Unanswered:
    frame: DurablePublish
    deadline: float


def new_publisher() -> DurablePublisher:
    """Return a publisher with a random number, known only to its routers."""
    return DurablePublisher(secrets.randbits(63))


class DurablePublisher:
    """The durable messages of one client."""

    def __init__(self, publisher: int) -> None:
        """Initialise with a random number below 2**63."""
        self.publisher = publisher
        self._last = 0
        self._unanswered: dict[int, _Unanswered] = {}  # by number, in order
        self._bytes = 0  # of their payloads

    def __len__(self) -> int:
        return len(self._unanswered)

    @property
    def floor(self) -> int:
        """The lowest unanswered number; the next number if there is none."""
        return next(iter(self._unanswered), self._last + 1)

    @property
    def next(self) -> int:
        """The number of the next message."""
        return self._last + 1

    @property
    def is_full(self) -> bool:
        """Whether no further message can be published before an answer arrives."""
        return self._last + 1 >= self.floor + WINDOW or self._bytes > MAX_UNANSWERED

    def add(
        self, attributes: dict[str, Any], tags: list[str], payload: bytes, now: float, timeout: float
    ) -> int:  # fmt: skip
        """Add a message and return its number.

        timeout: capped at `MAX_SECONDS`, as homes remember a publisher for twice that time.
        """
        self._last += 1
        frame = DurablePublish(self.publisher, self._last, 0, 0.0, attributes, tags, payload)
        self._unanswered[self._last] = _Unanswered(frame, now + min(timeout, MAX_SECONDS))
        self._bytes += len(payload)
        return self._last

    def frame(self, number: int, now: float) -> DurablePublish:
        """Return the frame of a message, with the current floor and the remaining time."""
        each = self._unanswered[number]
        left = min(max(0.001, each.deadline - now), MAX_SECONDS)
        return replace(each.frame, floor=self.floor, timeout=left)

    def frames(self, now: float) -> Iterator[DurablePublish]:
        """Yield the frames of all unanswered messages, in order, except those whose timeout has expired.

        A router may have given up on an expired message and allowed later ones to be stored: it would be refused.
        """
        return (self.frame(number, now) for number, each in self._unanswered.items() if now < each.deadline)

    def settle(self, number: int) -> bool:
        """Mark a message as answered, or as given up; return whether it was unanswered before."""
        settled = self._unanswered.pop(number, None)
        if settled is None:
            return False
        self._bytes -= len(settled.frame.payload)
        return True
