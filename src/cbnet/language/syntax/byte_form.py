"""Byte form of filters: one canonical form, so that equal filters are equal bytes.

    price < 500 and #upgradeable        [["price", 2, 500], "upgradeable"]       MessagePack
    dest in ("LIN", "MXP")              [["dest", 10, ["LIN", "MXP"]]]
    low < high                          [["low < high"]]

A constraint is an array of its name, its operator (its index in `Op`) and, except for `exists`, its constant; that of
`in` is an array. A condition is an array of its text, a tag is a string. Constraints precede conditions, and these
precede tags, all sorted and without duplicates; constraints that the conditions imply are left out; `x != true` is
encoded as `x = false`, and 5.0 as 5. Routers compare, store and forward the bytes; any other form is refused, with an
`InputError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import TypeAlias, TypeGuard

import msgspec

from cbnet._kernels import plain_predicate
from cbnet.errors import InputError
from cbnet.language.condition import Condition
from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.language.predicate import DEFAULT_LIMITS, MAX_FILTER_BYTES, Limits
from cbnet.language.syntax.byte_cache import ByteCache
from cbnet.language.syntax.parser import parse, parse_condition
from cbnet.language.values import Value

_Part: TypeAlias = list[Value | list[Value]]  # a constraint or a condition
_OPS = tuple(Op)
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[str | _Part])
_KEPT_BYTES = 1 << 20  # of filters that were decoded last
LONG_KEPT_BYTES = 1 << 22  # of filters of which less than their objects is kept
_MAX_SHARED_BYTES = 256  # of a filter whose constraints may be shared, so that they take a few MB
# Filters have many constraints in common; one that is known, with its key and hash, saves 7 µs.
_shared_constraint = lru_cache(maxsize=8192, typed=True)(Constraint)


DIGEST_BYTES = 16
_DIGESTS = (1 << 8 * DIGEST_BYTES) - 1


def canonical_filter(filter: Filter) -> Filter:
    """Return the canonical form of a filter, with `x = false` for `x != true`, as in tables."""
    if not any(_is_bool_ne(constraint) for constraint in filter.constraints):
        return filter
    constraints = [
        Constraint(constraint.name, Op.EQ, not constraint.value) if _is_bool_ne(constraint) else constraint
        for constraint in filter.constraints
    ]
    return Filter(constraints, filter.tags, filter.conditions)


def filter_to_bytes(filter: Filter) -> bytes:
    """Encode a filter; raise an `InputError` if it is too long for a record."""
    if not filter.constraints and not filter.conditions:
        return tags_to_bytes(sorted(filter.tags))
    filter = canonical_filter(filter)
    constraints = map(_encode_constraint, sorted(filter.written_constraints))
    conditions = ([condition.text] for condition in sorted(filter.conditions))
    return _checked(_encoder.encode([*constraints, *conditions, *sorted(filter.tags)]))


def predicate_to_bytes(text: str, limits: Limits = DEFAULT_LIMITS) -> list[bytes]:
    """Return the filters of the text of a predicate, encoded; raise an `InputError` if one is too long."""
    limits.check_text(text)
    filters = plain_predicate.plain_filters(text, limits.filters, limits.constraints)  # 1 µs, not 100 µs as below
    if filters is None:
        filters = [filter_to_bytes(filter) for filter in parse(text, limits).filters]
    return list(dict.fromkeys(filters))


def tags_to_bytes(tags: list[str]) -> bytes:
    """Encode a filter of tags only, which are sorted and distinct."""
    return _checked(_encoder.encode(tags))


def _checked(encoded: bytes) -> bytes:
    if len(encoded) > MAX_FILTER_BYTES:
        raise InputError(
            f"a filter of {len(encoded):,} bytes; at most {MAX_FILTER_BYTES:,} are allowed", hint="shorten it"
        )
    return encoded


def filter_from_bytes(encoded: bytes) -> Filter:
    """Decode a filter; raise an `InputError` if it is invalid."""
    return _last_decoded(encoded)


def _decoded(encoded: bytes) -> Filter:
    constraint = _shared_constraint if len(encoded) <= _MAX_SHARED_BYTES else Constraint
    try:
        parts = _decoder.decode(encoded)
        if _are_tags(parts) and _encoder.encode(parts) == encoded and all(a < b for a, b in pairwise(parts)):
            return Filter.of_tags(frozenset(parts))
        arrays = [part for part in parts if isinstance(part, list)]
        filter = Filter(
            [_decode_constraint(part, constraint) for part in arrays if len(part) != 1],
            [part for part in parts if isinstance(part, str)],
            [_decode_condition(part[0]) for part in arrays if len(part) == 1],
        )
        is_canonical = filter_to_bytes(filter) == encoded
    except InputError as error:
        raise InputError(f"invalid filter: {error.summary}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"invalid filter: {error}") from None
    if not is_canonical:
        raise InputError(f"filter not in canonical form: {filter}")
    return filter


# A router decodes each new filter several times: to count, to reduce and to index it. Conditions take 0.1 ms each time,
# and some 30 times the memory of their bytes.
_last_decoded = ByteCache(_decoded, _KEPT_BYTES)


def _are_tags(parts: list[str | _Part]) -> TypeGuard[list[str]]:
    return all(type(part) is str for part in parts)


def filters_digest(filters: Iterable[bytes]) -> bytes:
    """Return the digest of encoded filters, which does not depend on their order: the sum of their hashes."""
    hashes = (int.from_bytes(blake2b(each, digest_size=DIGEST_BYTES).digest()) for each in filters)
    return (sum(hashes) & _DIGESTS).to_bytes(DIGEST_BYTES)


def _is_bool_ne(constraint: Constraint) -> bool:
    return constraint.op is Op.NE and isinstance(constraint.value, bool)


def _encode_constraint(constraint: Constraint) -> list[object]:
    parts: list[object] = [constraint.name, constraint.op.rank]
    return parts if constraint.op is Op.EXISTS else [*parts, constraint.value]


def _decode_constraint(part: _Part, constraint: Callable[..., Constraint]) -> Constraint:
    if not 2 <= len(part) <= 3:
        raise InputError("a constraint has a name, an operator and a constant")
    name, op, *constant = part
    if not isinstance(name, str) or type(op) is not int or not 0 <= op < len(_OPS):
        raise InputError("a constraint begins with a name and the index of an operator")
    if constant and isinstance(constant[0], list):
        return Constraint(name, _OPS[op], constant[0])
    return constraint(name, _OPS[op], *constant)


def _decode_condition(text: object) -> Condition:
    if not isinstance(text, str):
        raise InputError("a condition is a text")
    return parse_condition(text)
