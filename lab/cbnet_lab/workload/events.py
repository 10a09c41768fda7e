"""Events and rules modelled on those of users: trades of a stock exchange, and webhooks.

Trades: symbols, venues and customers are Zipf-distributed; the price of each symbol moves around its own level.

Webhooks of a shop, of a code host and of a cluster are nested and have repeated elements: orders have items, pull
requests have labels, machines have tags. The rules over them, as EventBridge patterns, use every operator of the
dialect; most name a type and one or two rare values, as alerting rules do.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.random import Generator

from cbnet_lab.workload.distributions import Ranks, weighted, zipf_weights

_PART = 250_000  # rows of a row group
_SYMBOLS, _VENUES, _CUSTOMERS = 5_000, 40, 50_000
_SIDES, _TRADED = ("buy", "sell"), ("USD", "EUR", "JPY", "GBP", "CHF")
_START = 1_767_225_600_000_000  # µs of 2026-01-01
Webhook: TypeAlias = dict[str, Any]
Pattern: TypeAlias = dict[str, Any]

_COUNTRIES = ("AT", "BR", "CA", "CH", "DE", "ES", "FR", "GB", "IN", "IT", "JP", "NL", "PL", "SE", "US", "ZA")
_CURRENCIES = ("EUR", "USD", "GBP", "CHF", "JPY")
_ORDER_TYPES = ("order.created", "order.paid", "order.shipped", "order.refunded", "order.cancelled")
_CATEGORIES = ("book", "garden", "kitchen", "music", "office", "outdoor", "toy")
_STATES = ("pending", "running", "stopping", "stopped", "terminated")
_REGIONS = ("eu-north", "eu-south", "us-east", "us-west", "ap-south")
_LABELS = ("bug", "Security", "docs", "performance", "good first issue", "breaking")


def trades(first: int, count: int, seed: int) -> pa.Table:
    """Return `count` rows; the same seed and first row give the same rows."""
    rng = np.random.default_rng([seed, first])
    symbols = _zipf(rng, count, _SYMBOLS)
    level = np.random.default_rng(seed).lognormal(4, 1, _SYMBOLS)
    return pa.table(
        {
            "id": pa.array(np.arange(first, first + count)),
            "at": pa.array(_START + np.arange(first, first + count) * 1000, pa.timestamp("us", "UTC")),
            "symbol": _names("S", _SYMBOLS).take(pa.array(symbols)),
            "venue": _names("X", _VENUES).take(pa.array(_zipf(rng, count, _VENUES))),
            "customer": _names("C", _CUSTOMERS).take(pa.array(_zipf(rng, count, _CUSTOMERS))),
            "side": pa.array(_SIDES).take(pa.array(rng.integers(2, size=count))),
            "currency": pa.array(_TRADED).take(pa.array(_zipf(rng, count, len(_TRADED)))),
            "price": pa.array(np.round(level[symbols] * rng.lognormal(0, 0.05, count), 2)),
            "quantity": pa.array(np.ceil(rng.exponential(300, count)).astype(np.int64)),
        }
    )


def write_trades(path: Path, count: int, seed: int) -> None:
    """Write a Parquet file of trades, one row group at a time."""
    with pq.ParquetWriter(path, trades(0, 1, seed).schema) as writer:
        for first in range(0, count, _PART):
            writer.write_table(trades(first, min(_PART, count - first), seed))


def _zipf(rng: Generator, count: int, size: int) -> Ranks:
    """Return numbers below `size`, the number n with a share proportional to 1 / (n + 1)."""
    return weighted(zipf_weights(size, 1.0))(rng, count)


def _names(letter: str, count: int) -> pa.Array:
    return pa.array([f"{letter}{number:05}" for number in range(count)])


class Population(NamedTuple):
    """Numbers of customers, products, repositories and machines: the fewer, the more events match a rule."""

    customers: int = 20_000
    skus: int = 5_000
    repositories: int = 3_000
    machines: int = 10_000


LARGE, SMALL = Population(), Population(customers=500, skus=100, repositories=40, machines=300)


def event(random: Random, population: Population) -> Webhook:
    """Return one event."""
    return random.choice((_order, _order, _pull_request, _machine))(random, population)


def pattern(random: Random, population: Population) -> Pattern:
    """Return one rule, as an EventBridge pattern."""
    return random.choice((_order_rule, _order_rule, _pull_request_rule, _machine_rule))(random, population)


def _order(random: Random, population: Population) -> Webhook:
    items: list[Webhook] = [
        {
            "sku": f"sku-{random.randrange(population.skus)}",
            "category": random.choice(_CATEGORIES),
            "quantity": random.randint(1, 9),
            "price": random.randint(100, 50_000) / 100,
        }
        for _ in range(random.randint(1, 4))
    ]
    customer = random.randrange(population.customers)
    order: Webhook = {
        "number": random.randrange(10**8),
        "total": round(sum(item["price"] * item["quantity"] for item in items), 2),
        "currency": random.choice(_CURRENCIES),
        "coupon": random.choice((None, None, "SPRING", "welcome-10")),
        "customer": {
            "id": f"c-{customer}",
            "email": f"user{customer}@{random.choice(('mail.example', 'corp.example', 'post.example'))}",
            "country": random.choice(_COUNTRIES),
            "groups": random.sample(("new", "vip", "staff", "wholesale"), random.randint(0, 2)),
        },
        "items": items,
    }
    if random.random() < 0.1:
        order["refund"] = {"reason": random.choice(("damaged", "late", "other")), "amount": order["total"]}
    time = f"2026-11-{random.randint(1, 28):02}T{random.randrange(24):02}:{random.randrange(60):02}:00Z"
    return {"id": f"evt-{random.randrange(10**9)}", "type": random.choice(_ORDER_TYPES), "time": time, "order": order}


def _order_rule(random: Random, population: Population) -> Pattern:
    order: dict[str, Any] = {}
    kind = random.randrange(8)
    if kind == 0:
        order["customer"] = {
            "id": [f"c-{random.randrange(population.customers)}" for _ in range(random.randint(1, 20))]
        }
    elif kind <= 2:
        order["items"] = {
            "sku": [f"sku-{random.randrange(population.skus)}"],
            "quantity": [{"numeric": [">=", random.randint(2, 9)]}],
        }
    elif kind == 3:
        low = random.randint(500, 4_000)
        order["total"] = [{"numeric": [">", low, "<=", low + random.randint(1, 50)]}]
        order["customer"] = {"country": [random.choice(_COUNTRIES)]}
    elif kind == 4:
        order["customer"] = {"email": [{"wildcard": f"user{random.randrange(population.customers)}*@corp.*"}]}
    elif kind == 5:
        order["refund"] = {"reason": [{"anything-but": ["other", "late"]}]}
        order["customer"] = {"email": [{"prefix": f"user{random.randrange(population.customers)}@"}]}
    elif kind == 6:
        order["refund"] = {"reason": [{"exists": False}]}
        order["items"] = {
            "sku": [f"sku-{random.randrange(population.skus)}"],
            "category": [{"anything-but": {"prefix": "o"}}],
        }
    else:
        order["customer"] = {"groups": ["vip"], "country": [random.choice(_COUNTRIES)]}
        order["coupon"] = [None, {"equals-ignore-case": "Welcome-10"}]
        order["items"] = {"sku": [{"suffix": f"-{random.randrange(population.skus)}"}]}
    return {"type": random.sample(_ORDER_TYPES, random.randint(1, 3)), "order": order}


def _pull_request(random: Random, population: Population) -> Webhook:
    owner = f"team-{random.randrange(population.repositories) % 97}"
    return {
        "action": random.choice(("opened", "closed", "labeled", "synchronize")),
        "repository": {
            "full_name": f"{owner}/service-{random.randrange(population.repositories)}",
            "private": random.random() < 0.5,
        },
        "sender": {"login": f"dev{random.randrange(population.customers)}", "type": random.choice(("User", "Bot"))},
        "pull_request": {
            "number": random.randrange(5_000),
            "merged": random.random() < 0.4,
            "additions": random.randrange(3_000),
            "base": {"ref": random.choice(("main", "main", "release/1.2", "develop"))},
            "labels": [{"name": name, "default": random.random() < 0.5} for name in random.sample(_LABELS, 2)],
            "milestone": None,
        },
    }


def _pull_request_rule(random: Random, population: Population) -> Pattern:
    request: dict[str, Any] = {"base": {"ref": ["main", {"prefix": "release/"}]}}
    if random.random() < 0.5:
        request["labels"] = {"name": [{"equals-ignore-case": random.choice(_LABELS).upper()}]}
    if random.random() < 0.3:
        request["additions"] = [{"numeric": [">", random.randrange(3_000)]}]
    repository = f"service-{random.randrange(population.repositories)}"
    rule: Pattern = {"repository": {"full_name": [{"suffix": f"/{repository}"}]}, "pull_request": request}
    if random.random() < 0.3:
        rule["sender"] = {"type": [{"anything-but": "Bot"}]}
    return rule


def _machine(random: Random, population: Population) -> Webhook:
    number = random.randrange(population.machines)
    return {
        "source": "cluster.compute",
        "region": random.choice(_REGIONS),
        "detail": {
            "machine": f"m-{number:05}",
            "state": random.choice(_STATES),
            "address": f"10.{number >> 8 & 255}.{number & 255}.{random.randrange(256)}",
            "load": round(random.random() * 8, 2),
            "tags": [
                {"key": "team", "value": f"team-{number % 97}"},
                {"key": "stage", "value": random.choice(("prod", "test"))},
            ],
        },
    }  # fmt: skip


def _machine_rule(random: Random, population: Population) -> Pattern:
    detail: dict[str, Any] = {"state": random.sample(_STATES, random.randint(1, 2))}
    kind = random.randrange(4)
    if kind == 0:
        detail["machine"] = [f"m-{random.randrange(population.machines):05}"]
    elif kind == 1:
        block = f"10.{random.randrange(population.machines // 256 + 1)}.{random.randrange(256)}.0/24"
        detail["address"] = [{"cidr": block}]
    elif kind == 2:
        detail["tags"] = {"key": ["team"], "value": [f"team-{random.randrange(97)}"]}
        detail["load"] = [{"numeric": [">", 7 + random.random()]}]
    else:
        number = random.randrange(population.machines)
        return {"$or": [{"detail": {"machine": [f"m-{number:05}"]}}, {"detail": {"load": [{"numeric": [">", 7.99]}]}}],
                "source": ["cluster.compute"], "region": [random.choice(_REGIONS)]}  # fmt: skip
    return {"source": [{"prefix": "cluster."}], "detail": detail}


_Make: TypeAlias = Callable[[Random, Population], dict[str, Any]]


def many(make: _Make, count: int, seed: int, population: Population = LARGE) -> list[dict[str, Any]]:
    """Return `count` events or patterns."""
    random = Random(seed)
    return [make(random, population) for _ in range(count)]
