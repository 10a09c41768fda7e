"""Digest of a set of filters, which does not depend on their order: the sum of their hashes."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

DIGEST_BYTES = 16
_MASK = (1 << 8 * DIGEST_BYTES) - 1


def content_digest(filters: Iterable[bytes]) -> bytes:
    """Return the digest of filters in their canonical encoding."""
    return (sum(map(filter_hash, filters)) & _MASK).to_bytes(DIGEST_BYTES)


def filter_hash(filter: bytes) -> int:
    """Return the hash of one filter, to be added or subtracted."""
    return int.from_bytes(blake2b(filter, digest_size=DIGEST_BYTES).digest())
