"""The normal form of an encoded filter, in which routers compare and announce it."""

from __future__ import annotations

from cbnet._kernels import plain_filter
from cbnet.language.filter import Filter
from cbnet.language.relations.cover_index import attributes_of
from cbnet.language.relations.covering import outcome_test
from cbnet.language.relations.reduction import reduce
from cbnet.language.syntax.byte_cache import ByteCache
from cbnet.language.syntax.byte_form import LONG_KEPT_BYTES, filter_from_bytes, filter_to_bytes


def normalised(encoded: bytes) -> bytes | None:
    """Return an encoded filter without redundant constraints and conditions; None if no message matches it."""
    return encoded if plain_filter.is_plain(encoded) else _last_normalised(encoded)


def _normalised(encoded: bytes) -> bytes | None:
    filter = filter_from_bytes(encoded)
    names = [constraint.name for constraint in filter.constraints]
    tests = [outcome_test(condition)[0] for condition in filter.conditions]
    if all(len(set(each)) == len(each) for each in (names, tests)):
        return encoded if attributes_of(filter) is not None else None
    ordered = Filter(sorted(filter.constraints), filter.tags, sorted(filter.conditions))
    return next(map(filter_to_bytes, reduce(ordered)), None)


_last_normalised = ByteCache(_normalised, LONG_KEPT_BYTES)
