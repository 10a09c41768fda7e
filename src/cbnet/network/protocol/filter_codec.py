"""Filters: how is a filter written in a record? In one form only, so that equal filters are equal bytes.

    price < 500 and #upgradeable        [["price", 2, 500], "upgradeable"]       MessagePack

A constraint is an array of its name, its operator (its place in `Op`) and, but for `exists`, its constant; a tag is a
string. Constraints stand before tags, both in their order; nothing stands twice; `x != true` is written `x = false`,
and 5.0 as 5. A router compares, keeps and passes on the bytes; what is not in this form is refused.
"""

from __future__ import annotations

import msgspec

from cbnet.errors import InputError
from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.network.protocol.fields import MAX_FILTER_BYTES, Scalar
from cbnet.network.protocol.wire import WireError

_OPS = tuple(Op)
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[str | list[Scalar]])


def canonical_filter(filter: Filter) -> Filter:
    """Return the one form of a filter: `x != true` as `x = false`, as tables have it."""
    if not any(_is_bool_ne(constraint) for constraint in filter.constraints):
        return filter
    plain = [
        Constraint(constraint.name, Op.EQ, not constraint.value) if _is_bool_ne(constraint) else constraint
        for constraint in filter.constraints
    ]
    return Filter(plain, filter.tags)


def filter_to_bytes(filter: Filter) -> bytes:
    """Return the bytes of a filter; an error if they are too many for a record."""
    constraints = [_written(constraint) for constraint in sorted(canonical_filter(filter).constraints)]
    written = _encoder.encode([*constraints, *sorted(filter.tags)])
    if len(written) > MAX_FILTER_BYTES:
        raise InputError(
            f"a filter of {len(written):,} bytes; at most {MAX_FILTER_BYTES:,} are allowed", hint="shorten it"
        )
    return written


def filter_from_bytes(written: bytes) -> Filter:
    """Return the filter that was written."""
    try:
        parts = _decoder.decode(written)
        constraints = [_read(part) for part in parts if isinstance(part, list)]
        filter = Filter(constraints, [part for part in parts if isinstance(part, str)])
        is_plain = filter_to_bytes(filter) == written
    except (msgspec.DecodeError, UnicodeDecodeError, InputError) as error:
        raise WireError(f"not a filter: {error}") from None
    if not is_plain:
        raise WireError(f"a filter that is not in its one form: {filter}")
    return filter


def _is_bool_ne(constraint: Constraint) -> bool:
    return constraint.op is Op.NE and isinstance(constraint.value, bool)


def _written(constraint: Constraint) -> list[Scalar]:
    said: list[Scalar] = [constraint.name, constraint.op.rank]
    return said if constraint.value is None else [*said, constraint.value]


def _read(part: list[Scalar]) -> Constraint:
    if not 2 <= len(part) <= 3:
        raise WireError("not a filter: a constraint has a name, an operator and a constant")
    name, op, *constant = part
    if not isinstance(name, str) or type(op) is not int or not 0 <= op < len(_OPS):
        raise WireError("not a filter: a constraint begins with a name and the number of an operator")
    return Constraint(name, _OPS[op], *constant)
