"""One publisher that keeps a number of messages in flight, until each is answered or delivered."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from cbnet.errors import CbnetError

_TIMEOUT = 60.0  # seconds without an answer
_READ = 1 << 18  # bytes
_BATCH = 64  # messages in a write


class PublishingLink(Protocol):
    """The connections of a publisher, and of the subscriber if messages are not acknowledged."""

    publisher: socket.socket
    answers: socket.socket  # the same, if messages are acknowledged

    def publication(self, number: int, floor: int, payload: bytes) -> bytes:
        """Return the frame of a message; floor: the lowest number without an answer."""

    def answered(self, data: bytes) -> Iterable[int]:
        """Return the numbers of the messages that received bytes answer, in order of arrival."""


@dataclass(frozen=True)
class PublishingRun:
    """The measurements of a run."""

    messages: int
    seconds: float
    latencies: Sequence[float]  # seconds of each message


def payload_of(number: int, size: int) -> bytes:
    """Return the payload of a message: its number, then filling."""
    return number.to_bytes(8).ljust(size, b".")


def number_of(payload: bytes) -> int:
    """Return the number of the message with a payload."""
    return int.from_bytes(payload[:8])


def publish(link: PublishingLink, first: int, count: int, window: int, size: int) -> PublishingRun:
    """Publish messages from a number on, with at most `window` without an answer."""
    sent: dict[int, float] = {}
    latencies: list[float] = []
    following, end = first, first + count
    began = time.perf_counter()
    while len(latencies) < count:
        room = min(window - len(sent), end - following, _BATCH)
        if room:
            floor = next(iter(sent), following)
            numbers = range(following, following + room)
            frames = b"".join(link.publication(number, floor, payload_of(number, size)) for number in numbers)
            now = time.perf_counter()
            sent.update(dict.fromkeys(numbers, now))
            following += room
            link.publisher.sendall(frames)
        is_waiting = len(sent) == window or following == end
        if not select.select([link.answers], [], [], _TIMEOUT if is_waiting else 0)[0]:
            if is_waiting:
                raise CbnetError(f"no answer for {_TIMEOUT:g} s; {len(sent)} messages have none")
            continue
        data = link.answers.recv(_READ)
        if not data:
            raise CbnetError("the server closed the connection")
        now = time.perf_counter()
        for number in link.answered(data):
            latencies.append(now - sent.pop(number))
    return PublishingRun(count, time.perf_counter() - began, latencies)
