"""Encoded filter: which words stand for a filter in a compiled table?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cbnet.language.values import INT_MAX
from cbnet.matching.codes import TESTS, Test, pack

if TYPE_CHECKING:
    from cbnet.language.constraint import Constraint
    from cbnet.language.filter import Filter
    from cbnet.matching.columns import Array
    from cbnet.matching.compiled import Compiled


def words_of(compiled: Compiled, filter: Filter) -> Array | None:
    """Return the sorted words of a filter: uint64; None if the table knows no such name or constant."""
    words = set()
    for constraint in filter.constraints:
        symbol = compiled.symbols.symbol(constraint.name, False)
        operand = _operand(compiled, constraint) if symbol >= 0 else -1
        if operand < 0:
            return None
        words.add(pack(symbol, TESTS[constraint.op, constraint.kind], operand))
    for tag in filter.tags:
        symbol = compiled.symbols.symbol(tag, True)
        if symbol < 0:
            return None
        words.add(pack(symbol, Test.TAG, 0))
    return np.array(sorted(words), np.uint64)


def _operand(compiled: Compiled, constraint: Constraint) -> int:
    """Return the place of the constant, or -1."""
    value = constraint.value
    if value is None:
        return 0
    if isinstance(value, bool):
        return int(value == (constraint.op.value == "="))
    if isinstance(value, str):
        return compiled.index.string_place(value)  # type: ignore[no-any-return]
    high = float(value)
    return compiled.index.number_place(high, value - _whole(high) if isinstance(value, int) else 0)  # type: ignore[no-any-return]


def _whole(high: float) -> int:
    return int(high) if high <= INT_MAX else 2**63
