"""The normal form of an encoded filter, in which routers compare and announce it."""

from __future__ import annotations

from cbnet._kernels import plain_filter
from cbnet.language.filter import Filter
from cbnet.language.relations.covering import satisfiable
from cbnet.language.relations.reduction import reduce
from cbnet.language.syntax.byte_cache import ByteCache
from cbnet.language.syntax.byte_form import KEPT_BYTES, filter_from_bytes, filter_to_bytes


def normalised(encoded: bytes) -> bytes | None:
    """Return an encoded filter without redundant constraints; None if no message matches it."""
    return encoded if plain_filter.is_plain(encoded) else _last_normalised(encoded)


def _normalised(encoded: bytes) -> bytes | None:
    filter = filter_from_bytes(encoded)
    if len({constraint.name for constraint in filter.constraints}) == len(filter.constraints):
        return encoded if satisfiable(filter) else None
    ordered = Filter(sorted(filter.constraints), filter.tags, sorted(filter.conditions))
    return next(map(filter_to_bytes, reduce(ordered)), None)


_last_normalised = ByteCache(_normalised, KEPT_BYTES)
