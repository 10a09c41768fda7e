"""The constants of a table's filters as arrays, the same for every engine; see `_kernels/word_test.pxd`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cbnet._kernels import constant_pool as pools

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Array, Columns


def constant_arrays(columns: Columns) -> dict[str, Array]:
    """Return the numbers, strings, sets and conditions of filters."""
    strings = columns.strings
    keys = np.empty(len(strings), np.uint64)
    ids = np.arange(len(strings), dtype=np.uint32)
    pools.fill_pool(strings.data, strings.offsets, ids, False, keys, np.empty(0, np.uint32))
    return {
        "number_high": columns.numbers.high, "number_low": columns.numbers.low,
        "string_data": strings.data, "string_offsets": strings.offsets, "string_keys": keys,
        "value_set_offsets": columns.sets.offsets, "value_set_members": columns.sets.members,
        "condition_data": columns.conditions.data, "condition_offsets": columns.conditions.offsets,
    }  # fmt: skip
