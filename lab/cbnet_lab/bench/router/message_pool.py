"""Messages of the router benchmark, and random filters that none of them matches.

All messages have the same size and different attribute values, so that the generators need not parse frames, and no
server benefits from equal messages:

    {"dest": "QXB", "price": 20817, "airline": "UA"}, no tags, a payload
                                                      └ stamp of 8 bytes, then the same random bytes for all

The *content* of a message is its attributes, tags and payload, as encoded in a `Publish` frame. Topic brokers get these
bytes as their payload, so that all servers move the same number of bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from random import Random
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbnet.network.protocol.frames import Publish
from cbnet.network.protocol.wire import encode

Bytes2D = NDArray[np.uint8]

STAMP_BYTES = 8
_MIN_PRICE, _MAX_PRICE = 256, 65_535  # all encoded in the same number of bytes
_EQUAL = 0.9  # share of equalities among the constraints on airlines; the others are inequalities
_ORDERS = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}


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
