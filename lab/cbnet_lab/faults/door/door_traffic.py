"""Predicates and messages of the door benchmark: trades, and subscribers of every kind of predicate."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from cbnet_lab.bench.network.traffic import VENUES, Traffic

CONTENTS: Final = 500  # different messages
PAYLOAD: Final = "." * 200
_SYMBOLS: Final = [f"s{number:02d}.eq" for number in range(50)]
_TAGS: Final = ("bank", "energy", "tech", "eu", "us")
_PRICES, _VOLUMES = 100, 1_000


def _equality(random: Random) -> str:
    return f'symbol = "{random.choice(_SYMBOLS)}"'


def _range(random: Random) -> str:
    low = random.randrange(_PRICES - 5)
    return f"price >= {low} and price < {low + 5}"


def _prefix(random: Random) -> str:
    return f'symbol ^= "s{random.randrange(5)}" and venue != "{random.choice(VENUES)}"'


def _substring(random: Random) -> str:
    return f'symbol *= "{random.randrange(10)}.e"'


def _set(random: Random) -> str:
    symbols = ", ".join(f'"{symbol}"' for symbol in random.sample(_SYMBOLS, 3))
    return f"symbol in ({symbols})"


def _tags(random: Random) -> str:
    return " and ".join(f"#{tag}" for tag in random.sample(_TAGS, 2))


def _condition(random: Random) -> str:
    return f"price * volume > {random.randrange(60, 95) * _PRICES * _VOLUMES // 100}"


def _absence(random: Random) -> str:
    return f'absent limit and venue = "{random.choice(VENUES)}"'


def _disjunction(random: Random) -> str:
    return f"({_equality(random)} or {_range(random)}) and not #{random.choice(_TAGS)} or limit < {random.randrange(5)}"


KINDS: Final[tuple[Callable[[Random], str], ...]] = (
    _equality, _range, _prefix, _substring, _set, _tags, _condition, _absence, _disjunction,
)  # fmt: skip


def door_traffic(subscribers: int, messages: int, seed: int) -> Traffic:
    """Return a predicate for each subscriber, of each kind in turn, and different messages."""
    random = Random(seed)
    predicates = [[KINDS[number % len(KINDS)](random)] for number in range(subscribers)]
    contents = [_content(random) for _ in range(min(CONTENTS, messages))]
    return Traffic("trades", predicates, contents, subscribers)


def _content(random: Random) -> dict[str, Any]:
    content: dict[str, Any] = {
        "symbol": random.choice(_SYMBOLS),
        "price": random.randrange(_PRICES * 4) / 4,
        "volume": random.randrange(_VOLUMES),
        "venue": random.choice(VENUES),
        "#": sorted(random.sample(_TAGS, random.randrange(4))),
    }
    if random.random() < 0.7:
        content["limit"] = random.randrange(_PRICES)
    return content
