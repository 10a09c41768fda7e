"""A Bloom filter of the links of a delivery tree, carried in the header [2014 §3, its reference 8].

    links of the delivery tree     0→3   3→5   3→7          each sets k of the m bits
    filter in the header           0110 1001 0010 1100      m = k·links / ln 2, in whole bytes: half of the bits are set

A router tests for each of its links whether all k bits are set. There are no false negatives; any other link is a false
positive with probability `false_positive`, 2**-k at this size.

The id of a link includes the number of hops left when a packet takes it, so a link is on the tree at one hop only. A
packet that a false positive brings back to the tree, in a loop or by a detour, meets ids that are not in the filter.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from math import ceil, expm1, log, log1p
from typing import NamedTuple

MAX_HASHES = 16
_DRAW_BYTES = 4
_MAX_CACHED = 1 << 18  # ids of links, some 700 bytes each


class DirectedLink(NamedTuple):
    """A link from u to w at the hop with `left` hops left."""

    u: int
    w: int
    left: int


def size(links: int, hashes: int) -> int:
    """Return the size in bytes of a filter in which `links` links set half of the bits."""
    return ceil(hashes * links / (8 * log(2)))


def build(links: Iterable[DirectedLink], hashes: int, size: int) -> bytes:
    """Return the filter of these links, of `size` bytes."""
    filter = bytearray(size)
    for link in links:
        for draw in _draws(link)[:hashes]:
            bit = draw % (8 * size)
            filter[bit >> 3] |= 1 << (bit & 7)
    return bytes(filter)


def contains(filter: bytes, link: DirectedLink, hashes: int) -> bool:
    """Return whether a filter contains a link, possibly as a false positive."""
    bits = 8 * len(filter)
    return bits > 0 and all(
        filter[bit >> 3] >> (bit & 7) & 1 for bit in (draw % bits for draw in _draws(link)[:hashes])
    )


def false_positive(links: int, hashes: int, size: int) -> float:
    """Return the false-positive probability of a filter of `size` bytes with `links` links."""
    if not size:
        return 0.0
    share = -expm1(links * hashes * log1p(-1 / (8 * size)))  # expected share of set bits
    return float(share**hashes)


@lru_cache(_MAX_CACHED)
def _draws(link: DirectedLink) -> tuple[int, ...]:
    """Return MAX_HASHES independent numbers, the same at every router."""
    digest = blake2b(repr(tuple(link)).encode(), digest_size=MAX_HASHES * _DRAW_BYTES).digest()
    return tuple(int.from_bytes(digest[start : start + _DRAW_BYTES]) for start in range(0, len(digest), _DRAW_BYTES))
