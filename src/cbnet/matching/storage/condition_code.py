"""Conditions as code for a stack machine, which kernels evaluate.

`_kernels/condition_codes.pxd` draws the code. It contains its names and constants, so it means the same in every table,
and equal conditions have equal code.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

from cbnet.errors import TableFileError
from cbnet.language.address_block import block_of, block_text
from cbnet.language.condition import (
    AddressTest,
    Comparison,
    Condition,
    Like,
    Membership,
    Outcome,
    Presence,
    RegexTest,
    TagTest,
    Test,
)
from cbnet.language.constraint import Op
from cbnet.language.expression import Arithmetic, Attribute, Call, Constant, Expression, Function
from cbnet.language.like_pattern import pattern_text, pieces
from cbnet.language.regex import validate_regex
from cbnet.language.values import Value, canonical, validate_value

_ATTRIBUTE, _NULL, _FALSE, _TRUE, _NUMBER, _STRING = range(1, 7)
_ARITHMETIC = {op: 10 + number for number, op in enumerate(("+", "-", "*", "/", "div", "mod"))}
_CALLS: dict[Function, int] = {
    "bool": 7, "length": 8, "abs": 9, "lower": 16, "upper": 17, "int": 18, "string": 19, "time": 40,
}  # fmt: skip
_COMPARISONS: dict[Op, int] = {op: 20 + op.rank for op in Op if op not in (Op.EXISTS, Op.IN)}
_LIKE, _MEMBER, _PRESENCE, _TAG, _ADDRESS, _SEARCH = range(30, 36)
_TESTS = range(_COMPARISONS[Op.EQ], 40)
_ANY_RUN, _ANY_CHARACTER = b"\xff", b"\xfe"  # `%` and `_`: bytes that UTF-8 does not use

_SIMPLE: dict[int, Value] = {_NULL: None, _FALSE: False, _TRUE: True}
_ARITHMETIC_OF = {code: op for op, code in _ARITHMETIC.items()}
_CALL_OF = {code: function for function, code in _CALLS.items()}
_COMPARISON_OF = {code: op for op, code in _COMPARISONS.items()}


# --- encoding --------------------------------------------------------------------------------


def encode_condition(condition: Condition) -> bytes:
    """Return the code of a condition."""
    return bytes([condition.accepted]) + b"".join(_encode_test(condition.test))


def _encode_test(test: Test) -> Iterator[bytes]:
    if isinstance(test, Comparison):
        yield from _encode(test.left)
        yield from _encode(test.right)
        yield bytes([_COMPARISONS[test.op]])
    elif isinstance(test, Presence):
        yield _with_text(_PRESENCE, test.name.encode())
    elif isinstance(test, TagTest):
        yield _with_text(_TAG, test.tag.encode())
    else:
        yield from _encode(test.operand)
        if isinstance(test, Like):
            yield _with_text(_LIKE, _encode_pattern(test.pattern))
        elif isinstance(test, RegexTest):
            yield _with_text(_SEARCH, test.pattern.encode())
            yield struct.pack("<I", len(test.program)) + test.program
        elif isinstance(test, AddressTest):
            block = block_of(test.block)
            yield struct.pack("<BBB16s", _ADDRESS, block.version, block.prefixlen, block.network_address.packed)
        else:
            yield struct.pack("<BI", _MEMBER, len(test.values))
            yield from map(_encode_constant, test.values)


def _encode(expression: Expression) -> Iterator[bytes]:
    """Yield the operations that push the value of an expression."""
    if isinstance(expression, Attribute):
        yield _with_text(_ATTRIBUTE, expression.name.encode())
    elif isinstance(expression, Constant):
        yield _encode_constant(expression.value)
    elif isinstance(expression, Call):
        yield from _encode(expression.argument)
        yield bytes([_CALLS[expression.function]])
    else:
        yield from _encode(expression.left)
        yield from _encode(expression.right)
        yield bytes([_ARITHMETIC[expression.op]])


def _encode_constant(value: Value) -> bytes:
    if value is None:
        return bytes([_NULL])
    if isinstance(value, bool):
        return bytes([_TRUE if value else _FALSE])
    if isinstance(value, str):
        return _with_text(_STRING, value.encode())
    high = float(value) + 0.0  # + 0.0 turns -0.0 into 0.0
    return struct.pack("<Bdh", _NUMBER, high, value - int(high) if isinstance(value, int) else 0)


def _encode_pattern(pattern: str) -> bytes:
    encoded = (
        b"".join(_ANY_CHARACTER if char is None else char.encode() for char in piece) for piece in pieces(pattern)
    )
    return _ANY_RUN.join(encoded)


def _with_text(operation: int, text: bytes) -> bytes:
    return struct.pack("<BI", operation, len(text)) + text


# --- decoding --------------------------------------------------------------------------------


def decode_condition(code: bytes) -> Condition:
    """Return the condition of some code; raise TableFileError if the code is damaged."""
    try:
        return _Decoder(code).condition()
    except (LookupError, ValueError, struct.error):
        problem = "the table is damaged: the code of a condition is not valid"
        raise TableFileError(problem, hint="compile the table again with `cbnet compile`") from None


class _Decoder:
    """The stack machine of the code, on expressions instead of values."""

    def __init__(self, code: bytes) -> None:
        self.code = code
        self.at = 1
        self.operands: list[Expression] = []

    def condition(self) -> Condition:
        """Return the whole condition."""
        while (operation := self._byte()) not in _TESTS:
            self.operands.append(self._expression(operation))
        test = self._test(operation)
        if self.operands or self.at != len(self.code) or not 1 <= self.code[0] <= 7:
            raise ValueError
        return Condition(test, Outcome(self.code[0]))

    def _expression(self, operation: int) -> Expression:
        if operation == _ATTRIBUTE:
            return Attribute(self._text().decode())
        if operation in _CALL_OF:
            return Call(_CALL_OF[operation], self.operands.pop())
        if operation in _ARITHMETIC_OF:
            right, left = self.operands.pop(), self.operands.pop()
            return Arithmetic(_ARITHMETIC_OF[operation], left, right)
        return Constant(self._constant(operation))

    def _test(self, operation: int) -> Test:
        if operation == _PRESENCE:
            return Presence(self._text().decode())
        if operation == _TAG:
            return TagTest(self._text().decode())
        if operation == _LIKE:
            return Like(self.operands.pop(), _decode_pattern(self._text()))
        if operation == _MEMBER:
            count = self._unpack("<I")[0]
            return Membership(self.operands.pop(), tuple(self._constant(self._byte()) for _ in range(count)))
        if operation == _ADDRESS:
            return AddressTest(self.operands.pop(), self._block())
        if operation == _SEARCH:
            pattern, _ = self._text(), self._text()
            return RegexTest(self.operands.pop(), validate_regex(pattern.decode()))
        right, left = self.operands.pop(), self.operands.pop()
        return Comparison(_COMPARISON_OF[operation], left, right)

    def _constant(self, operation: int) -> Value:
        if operation == _NUMBER:
            high, low = self._unpack("<dh")
            validate_value(high, "constant")
            return validate_value(int(high) + low if low else canonical(high), "constant")
        return self._text().decode() if operation == _STRING else _SIMPLE[operation]

    def _block(self) -> str:
        version, length, packed = self._unpack("<BB16s")
        if version not in (4, 6):
            raise ValueError
        return block_text(block_of(f"{ip_address(packed[: 4 if version == 4 else 16])}/{length}"))

    def _text(self) -> bytes:
        length = self._unpack("<I")[0]
        self.at += length
        if self.at > len(self.code):
            raise ValueError
        return self.code[self.at - length : self.at]

    def _unpack(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(form, self.code, self.at)
        self.at += struct.calcsize(form)
        return values

    def _byte(self) -> int:
        self.at += 1
        return self.code[self.at - 1]


def _decode_pattern(code: bytes) -> str:
    return pattern_text(tuple(tuple(_characters(piece)) for piece in code.split(_ANY_RUN)))


def _characters(piece: bytes) -> Iterator[str | None]:
    for number, text in enumerate(piece.split(_ANY_CHARACTER)):
        if number:
            yield None
        yield from text.decode()
