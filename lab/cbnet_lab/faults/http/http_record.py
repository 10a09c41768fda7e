"""The traffic of an HTTP trial, trades for subscribers with every kind of predicate, and its record."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, Final

from cbnet.network.client.load_clients import DeliveryCount
from cbnet_lab.bench.network.traffic import Traffic
from cbnet_lab.faults.check.checker import settled_checker
from cbnet_lab.faults.check.findings import Findings
from cbnet_lab.faults.record import CompareEvent, PublishEvent, ReceiveEvent

CONTENTS: Final = 500  # different messages
_SYMBOLS: Final = [f"s{number:02d}.eq" for number in range(50)]
_VENUES: Final = ("XNYS", "XNAS", "XLON")
_TAGS: Final = ("bank", "energy", "tech", "eu", "us")
_PRICES, _VOLUMES = 100, 1_000
KINDS: Final = (
    'symbol = "{symbol}"',
    "price >= {low} and price < {high}",
    'symbol ^= "s{digit5}" and venue != "{venue}"',
    'symbol *= "{digit}.e"',
    'symbol in ("{symbol}", "{symbol2}", "{symbol3}")',
    "#{tag} and #{tag2}",
    "price * volume > {turnover}",
    'absent limit and venue = "{venue}"',
    '(symbol = "{symbol}" or price >= {low} and price < {high}) and not #{tag} or limit < {digit5}',
)
_PADDING = "." * 200
_PUBLISHER = "publisher"
_DELIVERIES = {  # wrong deliveries, by kind of violation
    "lost": "missing", "repeated": "duplicate", "spurious": "spurious", "altered": "altered", "order": "out of order",
    "loss reported": "reported as lost",
}  # fmt: skip


def http_traffic(subscribers: int, messages: int, seed: int) -> Traffic:
    """Return a predicate for each subscriber, of each kind in turn, and different messages."""
    random = Random(seed)
    predicates = [[KINDS[number % len(KINDS)].format(**_values(random))] for number in range(subscribers)]
    contents = [_content(random) for _ in range(min(CONTENTS, messages))]
    return Traffic(predicates, contents, subscribers)


def _values(random: Random) -> dict[str, Any]:
    low = random.randrange(_PRICES - 5)
    symbols, tags = random.sample(_SYMBOLS, 3), random.sample(_TAGS, 2)
    return {
        "low": low, "high": low + 5, "digit": random.randrange(10), "digit5": random.randrange(5),
        "symbol": symbols[0], "symbol2": symbols[1], "symbol3": symbols[2], "tag": tags[0], "tag2": tags[1],
        "venue": random.choice(_VENUES), "turnover": random.randrange(60, 95) * _PRICES * _VOLUMES // 100,
    }  # fmt: skip


def _content(random: Random) -> dict[str, Any]:
    content: dict[str, Any] = {
        "symbol": random.choice(_SYMBOLS),
        "price": random.randrange(_PRICES * 4) / 4,
        "volume": random.randrange(_VOLUMES),
        "venue": random.choice(_VENUES),
        "#": sorted(random.sample(_TAGS, random.randrange(4))),
    }
    if random.random() < 0.7:
        content["limit"] = random.randrange(_PRICES)
    return content


class HttpRecord:
    """Messages by number, and their deliveries to each subscriber."""

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
