"""Trades: generated rows of a stock exchange, for benchmarks of files.

Symbols, venues and customers are Zipf-distributed; the price of each symbol moves around its own level.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.random import Generator

from cbnet_lab.workload.distributions import Ranks, weighted, zipf_weights

_PART = 250_000  # rows of a row group
_SYMBOLS, _VENUES, _CUSTOMERS = 5_000, 40, 50_000
_SIDES, _CURRENCIES = ("buy", "sell"), ("USD", "EUR", "JPY", "GBP", "CHF")
_START = 1_767_225_600_000_000  # µs of 2026-01-01


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
            "currency": pa.array(_CURRENCIES).take(pa.array(_zipf(rng, count, len(_CURRENCIES)))),
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
