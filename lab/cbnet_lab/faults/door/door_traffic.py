"""Predicates and messages of the door benchmark: trades, and subscribers of every kind of predicate."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from cbnet_lab.bench.network.traffic import Traffic

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


def door_traffic(subscribers: int, messages: int, seed: int) -> Traffic:
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
