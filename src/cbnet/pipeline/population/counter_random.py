"""Counter-based random numbers.

The numbers of a row are a function of seed, stream, row and slot alone, so any partition can generate any row, in any
order. (Those of a generator with state would depend on the partitions.)

    counter   row (64 bits) │ slot │ stream        key   seed (64 bits)
                  └──────── ten rounds of Philox4x32 ────────┘
                            four words of 32 bits

Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Words: TypeAlias = NDArray[np.uint64]  # each below 2**32
Units: TypeAlias = NDArray[np.float64]

_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_CHUNK = 1 << 14  # rows whose words fit in the processor's cache: twice as fast


def words(seed: int, stream: int, rows: ArrayLike, slots: ArrayLike = 0) -> Words:
    """Return four random words for each row and slot: uint64[4, n], each below 2**32.

    rows: uint64[n]; slots: below 2**32, one for each row or one for all.
    """
    rows = np.asarray(rows, dtype=np.uint64)
    slots = np.broadcast_to(np.asarray(slots, dtype=np.uint64), rows.shape)
    out = np.empty((4, len(rows)), dtype=np.uint64)
    for start in range(0, len(rows), _CHUNK):
        part = slice(start, start + _CHUNK)
        counter = (rows[part] & _LOW, rows[part] >> _HALF, slots[part], np.uint64(stream))
        out[:, part] = _philox(counter, (seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF))
    return out


def units(word: Words) -> Units:
    """Convert words to floats in [0, 1) of 32 bits."""
    return word.astype(np.float64) * 2.0**-32


def wide_units(high: Words, low: Words) -> Units:
    """Convert pairs of words to floats in [0, 1) of 53 bits."""
    return ((high << np.uint64(21)) | (low >> np.uint64(11))).astype(np.float64) * 2.0**-53


def below(unit: Units, bounds: NDArray[np.integer] | int) -> NDArray[np.int64]:
    """Convert floats in [0, 1) to integers in [0, bound); bounds are at least 1."""
    numbers: NDArray[np.int64] = (unit * bounds).astype(np.int64)
    return numbers


def _philox(counter: tuple[Words | np.uint64, ...], key: tuple[int, int]) -> tuple[Words | np.uint64, ...]:
    a, b, c, d = counter
    for round in range(_ROUNDS):
        first, second = (np.uint64((k + round * step) & 0xFFFFFFFF) for k, step in zip(key, _WEYL, strict=True))
        left, right = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
        a, b, c, d = (right >> _HALF) ^ b ^ first, right & _LOW, (left >> _HALF) ^ d ^ second, left & _LOW
    return a, b, c, d
