"""Filters as sets of tests: hashable, and readable by kernels.

A test is (name or tag, code, constant), see `codes.Test`; an encoded filter is a frozenset of them. The code
contains the type, so `x = true` and `x = 1` are two tests although True == 1 in Python; the members of `in` are
pairs of type and value for the same reason. A condition is a test of "#", an attribute that every message has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, cast

from cbnet._kernels.plain_filter import plain_tests
from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.language.syntax.byte_cache import ByteCache
from cbnet.language.syntax.byte_form import LONG_KEPT_BYTES, filter_from_bytes
from cbnet.language.values import RESERVED_NAME, Value, ValueType, value_type
from cbnet.matching.storage.codes import OPS, TESTS, Test
from cbnet.matching.storage.condition_code import decode_condition, encode_condition

Constant: TypeAlias = Value | tuple[tuple[ValueType, Value], ...] | bytes  # of `in`: members; of a condition: its code
EncodedFilter: TypeAlias = frozenset[tuple[str, int, Constant]]

_TAG, _BOOL, _EXISTS, _IN, _CONDITION = map(int, (Test.TAG, Test.BOOL_EQ, Test.EXISTS, Test.IN, Test.CONDITION))
_CODES = [{op.value: int(test) for (op, of), test in TESTS.items() if of is kind} for kind in ValueType]


def encode_filter(filter: Filter) -> EncodedFilter:
    """Return the tests of a filter; `x != true` is `x = false`."""
    tests: list[tuple[str, int, Constant]] = []
    for constraint in filter.constraints:
        kind, operator = constraint.kind, constraint.op._value_
        code = None if kind is None else _CODES[kind].get(operator)
        if code is None or code == _BOOL:
            tests.append(_unusual_test(constraint, code))
        else:
            tests.append((constraint.name, code, constraint.value))  # type: ignore[arg-type]  # a single one
    if filter.tags:
        tests += [(tag, _TAG, None) for tag in filter.tags]
    if filter.conditions:
        if not tests:  # a condition is never looked up: file the filter under an attribute of every message
            tests.append((RESERVED_NAME, _EXISTS, None))
        tests += [(RESERVED_NAME, _CONDITION, encode_condition(condition)) for condition in filter.conditions]
    return frozenset(tests)


def tests_from_bytes(encoded: bytes) -> EncodedFilter:
    """Return the tests of a filter in its byte form; raise an `InputError` if it is invalid."""
    tests = plain_tests(encoded)  # 1 µs; an object for each constraint takes ten times as long
    return tests if tests is not None else _last_encoded(encoded)


def _encoded(encoded: bytes) -> EncodedFilter:
    return encode_filter(filter_from_bytes(encoded))


_last_encoded = ByteCache(_encoded, LONG_KEPT_BYTES)  # a filter that is removed soon is not decoded again


def _unusual_test(constraint: Constraint, code: int | None) -> tuple[str, int, Constant]:
    if constraint.op is Op.EXISTS:
        return constraint.name, _EXISTS, None
    if constraint.op is Op.IN:
        return constraint.name, _IN, tuple((value_type(member), member) for member in constraint.members)
    assert code is not None
    return constraint.name, code, constraint.value is (constraint.op is Op.EQ)


def decode_filter(tests: Iterable[tuple[str, int, Constant]]) -> Filter:
    """Return the filter that makes these tests."""
    constraints, tags, conditions = [], [], []
    for name, code, constant in tests:
        if code == _TAG:
            tags.append(name)
        elif code == _CONDITION:
            conditions.append(decode_condition(cast("bytes", constant)))
        elif code == _IN:
            members = cast("tuple[tuple[ValueType, Value], ...]", constant)
            constraints.append(Constraint(name, Op.IN, [value for _, value in members]))
        elif name != RESERVED_NAME:
            constraints.append(Constraint(name, OPS[Test(code)], cast("Value", constant)))
    return Filter(sorted(constraints), tags, sorted(conditions))
