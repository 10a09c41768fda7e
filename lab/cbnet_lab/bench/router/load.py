"""Cases of the router benchmark: clients, messages, limits of messages in flight, and filters that match none of them.

All messages have the same size and different attribute values, so that the generators need not parse frames, and no
server benefits from equal messages:

    {"dest": "QXB", "price": 20817, "airline": "UA"}, no tags, a payload
                                                      └ stamp of 8 bytes, then the same random bytes for all

The *content* of a message is its attributes, tags and payload, as encoded in a `Publish` frame. Topic brokers get these
bytes as their payload, so that all servers move the same number of bytes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from random import Random
from string import ascii_uppercase
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.network.protocol.frames import Publish
from cbnet.network.protocol.wire import encode
from cbnet_lab.bench.result_table import HIDDEN

Bytes2D = NDArray[np.uint8]

STAMP_BYTES = 8
_MIN_PRICE, _MAX_PRICE = 256, 65_535  # all encoded in the same number of bytes
_EQUAL = 0.9  # share of equalities among the constraints on airlines; the others are inequalities
_ORDERS = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}
_POOL_BYTES = 3 << 20  # of all distinct messages
_MAX_POOL = 20_000  # messages
_SUBSCRIBER_WINDOW = 8 << 20  # bytes in flight to one subscriber: half of what a router queues for a client
_WINDOW = 16 << 20  # bytes in flight to all subscribers
_MAX_WINDOW = 10_000  # messages
_OVERHEAD = 60  # bytes of a delivery besides its payload
_USUAL = 10_000  # maximum number of filters in cases with servers of their own


class MessagePool:
    """Distinct messages, published in turn."""

    def __init__(self, count: int, payload: int, airline: str, seed: int) -> None:
        """Draw `count` messages of an airline with `payload` bytes of payload, the stamp included."""
        random = Random(f"{airline} {seed}")
        self.attributes: list[dict[str, Any]] = [
            {"dest": _code(random, 3), "price": random.randint(_MIN_PRICE, _MAX_PRICE), "airline": airline}
            for _ in range(count)
        ]
        self._payload = bytes(STAMP_BYTES) + random.randbytes(payload - STAMP_BYTES)

    def __len__(self) -> int:
        return len(self.attributes)

    @cached_property
    def contents(self) -> Bytes2D:
        """The content of each message, with stamp 0: uint8[messages, bytes]."""
        joined = b"".join(publication(each, self._payload)[_HEAD:-1] for each in self.attributes)
        return np.frombuffer(joined, np.uint8).reshape(len(self), -1)

    @property
    def stamp(self) -> slice:
        """The bytes of a content that hold its stamp."""
        start = self.contents.shape[1] - len(self._payload)
        return slice(start, start + STAMP_BYTES)


def publication(attributes: dict[str, Any], payload: bytes) -> bytes:
    """Return the frame that publishes a message."""
    return encode(Publish(0, attributes, [], payload, False))


_HEAD = len(publication({}, b"")) - len(b"\x80\x90\xc4\x00\xc2")  # bytes before the content; one byte follows it


def enclosed(content: bytes) -> bytes:
    """Return the `Publish` frame that encloses a content."""
    body = publication({}, b"")[4:_HEAD] + content + b"\xc2"
    return len(body).to_bytes(4) + body


def subscriber_filter(airline: str, index: int) -> str:
    """Return the filter of a subscriber, matched by every message of an airline and different for each subscriber."""
    return f'airline = "{airline}" and price < {_MAX_PRICE + 1 + index}'


def random_filters(count: int, pools: Iterable[MessagePool], seed: int) -> Iterator[str]:
    """Yield distinct filters of three constraints on the messages' attributes; no message matches any of them."""
    random = Random(f"filters {seed}")
    fares: dict[str, list[dict[str, Any]]] = {}
    for fare in chain.from_iterable(pool.attributes for pool in pools):
        fares.setdefault(fare["dest"], []).append(fare)
    seen: set[str] = set()
    while len(seen) < count:
        dest, airline = _code(random, 3), _code(random, 2)
        order, limit = random.choice(tuple(_ORDERS)), random.randint(_MIN_PRICE, _MAX_PRICE)
        is_equal = random.random() < _EQUAL
        if any(
            _ORDERS[order](fare["price"], limit) and (fare["airline"] == airline) == is_equal
            for fare in fares.get(dest, ())
        ):
            continue
        text = f'dest = "{dest}" and price {order} {limit} and airline {"=" if is_equal else "!="} "{airline}"'
        if text not in seen:
            seen.add(text)
            yield text


def _code(random: Random, letters: int) -> str:
    return "".join(random.choices(ascii_uppercase, k=letters))


@dataclass(frozen=True)
class Target:
    """A server that clients connect to."""

    format: str  # a key of `wire_formats.FORMATS`
    port: int
    authority: str | None = None  # file of the certificate to trust; None: without TLS


@dataclass(frozen=True)
class Load:
    """Clients and messages."""

    subscribers: int = 1
    publishers: int = 1  # they take turns
    batch: int = 500  # messages in a write; 1 if there are several publishers
    payload: int = 100  # bytes
    channel: str = field(default="UA", metadata=HIDDEN)  # airline or topic of the subscriptions
    seed: int = field(default=0, metadata=HIDDEN)

    def pool(self) -> MessagePool:
        """Return the messages: as many whole batches as fit."""
        count = max(self.batch, min(_MAX_POOL, _POOL_BYTES // self.payload) // self.batch * self.batch)
        return MessagePool(count, self.payload, self.channel, self.seed)

    @property
    def window(self) -> int:
        """Maximum number of messages in flight, so that no server queues or drops many."""
        room = min(_SUBSCRIBER_WINDOW, _WINDOW // self.subscribers) // (self.payload + _OVERHEAD)
        return max(2 * self.batch, min(_MAX_WINDOW, room))


@dataclass(frozen=True)
class Case:
    """A load on every server."""

    name: str
    text: str
    load: Load
    is_tls: bool = False
    is_transit: bool = False  # subscribers are at a second router
    has_probe: bool = False  # latency is measured alongside the load

    @property
    def has_own_servers(self) -> bool:
        """Whether it cannot use the servers of the other cases."""
        return self.is_tls or self.is_transit

    def filters(self, chosen: Sequence[int]) -> list[int]:
        """Return the numbers of filters to measure: with servers of its own, only the largest usual one."""
        if not self.has_own_servers:
            return list(chosen)
        return [max((count for count in chosen if count <= _USUAL), default=min(chosen))]


CASES: Final = {
    case.name: case
    for case in (
        Case("fanout-1", "1 subscriber, 500 messages in a write", Load()),
        Case("fanout-10", "10 subscribers, 100 messages in a write", Load(subscribers=10, batch=100)),
        Case("fanout-100", "100 subscribers, 20 messages in a write", Load(subscribers=100, batch=20)),
        Case("payload-10k", "10,000 bytes of payload, 20 messages in a write", Load(payload=10_000, batch=20)),
        Case("publishers-20", "20 publishers in turn, one message in a write", Load(publishers=20, batch=1)),
        Case("probe", "as fanout-1, with a message every 2 ms of another client", Load(), has_probe=True),
        Case("tls", "as fanout-1, with TLS", Load(), is_tls=True),
        Case("transit", "as fanout-1, with the subscriber at a second router", Load(), is_transit=True),
    )
}


def chosen_cases(names: Sequence[str]) -> list[Case]:
    """Return cases by name."""
    for name in names:
        if name not in CASES:
            raise InputError(f"unknown case {name!r}", hint=f"use some of {', '.join(CASES)}")
    return [CASES[name] for name in names]


class LoadProgress(ctypes.Structure):
    """Memory shared by the generators of a run.

    received: messages that every subscriber has received.
    total: messages of the run; -1 while they are being published.
    is_aborted: whether the run must end, because its result is wrong.
    """

    _fields_ = (("received", ctypes.c_int64), ("total", ctypes.c_int64), ("is_aborted", ctypes.c_bool))

    def reset(self) -> None:
        """Begin a run."""
        self.received, self.total, self.is_aborted = 0, -1, False
