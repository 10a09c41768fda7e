"""The encoding of a constraint as one 64-bit word.

    63            38 37    32 31              0
    ┌───────────────┬────────┬─────────────────┐
    │ symbol        │ test   │ operand         │
    └───────────────┴────────┴─────────────────┘

symbol: number of the attribute's name, or of the tag; tags follow the names in one list of symbols.
test: operator and type together, `Test`.
operand: rank of the constant in the sorted list of numbers or of strings; 0 or 1 for a bool; the number of
a set of constants (`value_sets`), or of a condition.

Words of one symbol are adjacent when sorted, equal constraints are equal words, and since the
lists of constants are sorted, operands compare as their constants do.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from cbnet.language.constraint import ORDERING, Op
from cbnet.language.values import ValueType

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Array

SYMBOL_SHIFT, TEST_SHIFT = 38, 32
MAX_SYMBOLS, MAX_CONSTANTS = 1 << 26, 1 << 31  # twice a rank still fits in 32 bits


class Test(IntEnum):
    """Operator and type of a word. The numbers are part of the table file and of the kernels."""

    EXISTS = 0
    TAG = 1
    BOOL_EQ = 2  # `x != true` is `x = false`
    NUMBER_EQ = 3
    NUMBER_NE = 4
    NUMBER_LT = 5
    NUMBER_LE = 6
    NUMBER_GT = 7
    NUMBER_GE = 8
    STRING_EQ = 9
    STRING_NE = 10
    STRING_LT = 11
    STRING_LE = 12
    STRING_GT = 13
    STRING_GE = 14
    PREFIX = 15
    SUFFIX = 16
    SUBSTRING = 17
    NULL_EQ = 18
    NOT_NULL = 19
    IN = 20
    CONDITION = 21  # of the attribute "#", which every message has


_ORDER = (Op.EQ, Op.NE, *ORDERING)
TESTS: dict[tuple[Op, ValueType | None], Test] = {
    (Op.EXISTS, None): Test.EXISTS,
    (Op.EQ, ValueType.BOOL): Test.BOOL_EQ,
    (Op.NE, ValueType.BOOL): Test.BOOL_EQ,
    (Op.PREFIX, ValueType.STRING): Test.PREFIX,
    (Op.SUFFIX, ValueType.STRING): Test.SUFFIX,
    (Op.SUBSTRING, ValueType.STRING): Test.SUBSTRING,
    (Op.EQ, ValueType.NULL): Test.NULL_EQ,
    (Op.NE, ValueType.NULL): Test.NOT_NULL,
    **{(op, ValueType.NUMBER): Test(Test.NUMBER_EQ + op.rank) for op in _ORDER},
    **{(op, ValueType.STRING): Test(Test.STRING_EQ + op.rank) for op in _ORDER},
}
OPS = {test: op for (op, _), test in TESTS.items() if (op, test) != (Op.NE, Test.BOOL_EQ)}
_TYPES = {test: kind for (_, kind), test in TESTS.items()}


def pack(symbol: int, test: int, operand: int) -> int:
    """Return the word of a constraint."""
    return symbol << SYMBOL_SHIFT | test << TEST_SHIFT | operand


def unpack(word: int) -> tuple[int, Test, int]:
    """Return symbol, test and operand of a word."""
    return word >> SYMBOL_SHIFT, Test(word >> TEST_SHIFT & 0x3F), word & 0xFFFFFFFF


def symbols_of(words: Array) -> Array:
    """Return the symbol of every word: int64[n]."""
    return (words >> SYMBOL_SHIFT).astype("int64")


def tests_of(words: Array) -> Array:
    """Return the test of every word: int64[n]."""
    return (words >> TEST_SHIFT & 0x3F).astype("int64")


def operands_of(words: Array) -> Array:
    """Return the operand of every word: int64[n]."""
    return (words & 0xFFFFFFFF).astype("int64")


def type_of(test: Test) -> ValueType | None:
    """Return the type of a test's constant; None if it has none, several, or a condition."""
    return _TYPES.get(test)
