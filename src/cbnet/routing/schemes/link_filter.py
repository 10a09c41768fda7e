"""DirectedLink filter: which links does a header name? A Bloom filter of their ids [2014 §3, its reference 8].

    links of the delivery tree     0→3   3→5   3→7          each draws k of the m bits
    filter in the header           0110 1001 0010 1100      m = k·links / ln 2, in whole bytes: half of the bits are set

A router asks for each of its links whether all k bits are set. It never overlooks a link of the tree; it takes another
link for one of them with the chance `false_positive`, 2**-k at this size.

The id of a link contains how many hops are left when a packet takes it. So a link is on the tree at one hop only: a
packet that a false positive brought back to the tree, in a circle or by a detour, meets ids that are not in the filter.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from math import ceil, expm1, log, log1p
from typing import NamedTuple

MAX_HASHES = 16
_DRAW_BYTES = 4
_KEPT = 1 << 18  # ids of links, some 700 bytes each


class DirectedLink(NamedTuple):
    """A link from u to w, taken when so many hops are left."""

    u: int
    w: int
    left: int


def size(links: int, hashes: int) -> int:
    """Return the bytes of a filter in which so many links set half of the bits."""
    return ceil(hashes * links / (8 * log(2)))


def filled(links: Iterable[DirectedLink], hashes: int, size: int) -> bytes:
    """Return the filter of some links, in so many bytes."""
    found = bytearray(size)
    for link in links:
        for draw in _draws(link)[:hashes]:
            place = draw % (8 * size)
            found[place >> 3] |= 1 << (place & 7)
    return bytes(found)


def names(filter: bytes, link: DirectedLink, hashes: int) -> bool:
    """Return whether a filter names a link, rightly or not."""
    bits = 8 * len(filter)
    return bits > 0 and all(
        filter[place >> 3] >> (place & 7) & 1 for place in (draw % bits for draw in _draws(link)[:hashes])
    )


def false_positive(links: int, hashes: int, size: int) -> float:
    """Return how likely a filter of so many bytes with so many links names another link."""
    if not size:
        return 0.0
    share = -expm1(links * hashes * log1p(-1 / (8 * size)))  # of the bits that are set, on average
    return float(share**hashes)


@lru_cache(_KEPT)
def _draws(link: DirectedLink) -> tuple[int, ...]:
    """Return as many independent numbers as there may be hashes, the same at every router."""
    digest = blake2b(repr(tuple(link)).encode(), digest_size=MAX_HASHES * _DRAW_BYTES).digest()
    return tuple(int.from_bytes(digest[start : start + _DRAW_BYTES]) for start in range(0, len(digest), _DRAW_BYTES))
