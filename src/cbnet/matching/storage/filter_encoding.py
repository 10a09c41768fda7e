"""Filters as sets of tests: hashable, and readable by kernels.

A test is (name or tag, code, constant), see `codes.Test`; an encoded filter is a frozenset of them. The code
contains the type, so `x = true` and `x = 1` are two tests although True == 1 in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from cbnet.language.constraint import Op
from cbnet.language.filter import Filter
from cbnet.language.values import ValueType
from cbnet.matching.storage.codes import TESTS, Test, constraint_of

if TYPE_CHECKING:
    from cbnet.language.constraint import Constraint

EncodedFilter: TypeAlias = frozenset[tuple[str, int, Any]]

_TAG, _BOOL = int(Test.TAG), int(Test.BOOL_EQ)
_CODES = [{op.value: int(test) for (op, of), test in TESTS.items() if of is kind} for kind in ValueType]


def encode_filter(filter: Filter) -> EncodedFilter:
    """Return the tests of a filter; `x != true` is `x = false`."""
    tests = [_test(constraint) for constraint in filter.constraints]
    return frozenset(tests + [(tag, _TAG, None) for tag in filter.tags]) if filter.tags else frozenset(tests)


def _test(constraint: Constraint) -> tuple[str, int, Any]:
    if constraint.kind is None:
        return constraint.name, Test.EXISTS, None
    code = _CODES[constraint.kind][constraint.op._value_]
    value = constraint.value
    return constraint.name, code, not value if code == _BOOL and constraint.op is Op.NE else value


def decode_filter(tests: EncodedFilter) -> Filter:
    """Return the filter that makes these tests."""
    constraints = [constraint_of(name, Test(code), value) for name, code, value in tests if code != _TAG]
    return Filter(sorted(constraints), [name for name, code, _ in tests if code == _TAG])
