"""Minimal: which of many sets of tags contain no other of them?

What a router keeps of the descriptors behind one interface [2014 §3.2.1]: a set that contains another
adds nothing. Exact, for tens of millions of sets: no Python object per set. Tags are numbered, the
commonest first, and the work is done in `_kernels/minimal.pyx`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cbnet._kernels import set_minimal as kernel
from cbnet.errors import InputError, LimitError
from cbnet.matching.engines.tag_table import set_arrays

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Array

_MOST = 2**32 - 2  # sets, and tags in all of them
_TYPES = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_null)


def minimal(sets: pa.Array | pa.ChunkedArray, groups: pa.Array | pa.ChunkedArray | None = None) -> Array:
    """Return the rows of the sets that contain no other set, of equal ones the first: int64, rising.

    sets: a list or large list of strings or of ints; the order in a set and repetitions play no part.
    groups: a string or an int per set, such as an interface; then sets of one group only are compared.
    """
    tags, offsets, count = _numbered(sets, groups)
    empty = np.flatnonzero(np.diff(offsets) == 0)
    if len(empty):  # every set contains it
        return cast("Array", empty[:1])
    kernel.sort_sets(tags, offsets)
    singles = np.full(count, -1, np.int64)
    kernel.find_singles(tags, offsets, singles)
    rows = _candidates(tags, offsets, singles >= 0)
    is_minimal = np.zeros(len(rows), np.uint8)
    filed = set_arrays(tags, offsets, rows, np.zeros(len(rows), np.uint32), count)
    kernel.mark_minimal(filed, tags, offsets, rows, is_minimal)
    return np.sort(np.append(singles[singles >= 0], rows[is_minimal > 0]))


def _candidates(tags: Array, offsets: Array, is_single: Array) -> Array:
    """Return the distinct sets none of whose tags is a set by itself: their first rows."""
    rows = np.empty(len(offsets) - 1, np.int64)
    rows = rows[: kernel.without_singles(tags, offsets, is_single.view(np.uint8), rows)].copy()
    slots = np.zeros(1 << (2 * len(rows) + 1).bit_length(), np.uint32)
    return rows[: kernel.distinct_sets(tags, offsets, rows, slots)].copy()


def _numbered(sets: pa.Array | pa.ChunkedArray, groups: pa.Array | pa.ChunkedArray | None) -> tuple[Array, Array, int]:
    """Return the tags of all sets as numbers, the commonest first; where each set begins; how many tags there are.

    The group of a set is one more tag of it, so that sets of two groups never contain each other.
    """
    codes, offsets = _coded(sets)
    count = int(codes.max(initial=-1)) + 1
    if groups is not None:
        group = _codes(groups.combine_chunks() if isinstance(groups, pa.ChunkedArray) else groups, "group")
        if len(group) != len(offsets) - 1:
            raise InputError(f"there are {len(offsets) - 1:,} sets and {len(group):,} groups", hint="give one for each")
        codes, offsets = _with_last(codes, offsets, group + count)
        count += int(group.max(initial=-1)) + 1
    for what, size in (("sets", len(offsets) - 1), ("tags in all sets", len(codes))):
        if size > _MOST:
            raise LimitError(what, size, _MOST, hint="split them")
    numbers = np.empty(count, np.uint32)
    numbers[np.argsort(-np.bincount(codes, minlength=count), kind="stable")] = np.arange(count, dtype=np.uint32)
    return numbers[codes], offsets, count


def _coded(sets: pa.Array | pa.ChunkedArray) -> tuple[Array, Array]:
    """Return a number for each tag of all sets, equal for equal tags, and where each set begins."""
    if not (pa.types.is_list(sets.type) or pa.types.is_large_list(sets.type)):
        raise InputError(f"{sets.type} is not a list of tags", hint="give the sets as lists of strings or of ints")
    if isinstance(sets, pa.ChunkedArray):  # offsets of 32 bits might not reach to the end of all chunks
        tag = sets.type.value_type
        sets = sets.cast(pa.large_list(pa.large_string() if pa.types.is_string(tag) else tag)).combine_chunks()
    if sets.null_count:
        row = pc.index(sets.is_null(), True).as_py() + 1
        raise InputError(f"row {row}: the set is null", hint="write a set without tags as an empty list")
    offsets = np.append(0, np.cumsum(pc.list_value_length(sets).to_numpy(), dtype=np.int64))
    return _codes(sets.flatten(), "tag", offsets), offsets


def _codes(values: pa.Array, what: str, offsets: Array | None = None) -> Array:
    """Return a number for each value, from 0 on; `offsets` say which row a value stands in."""
    if values.null_count:
        place = pc.index(values.is_null(), True).as_py()
        row = place if offsets is None else int(np.searchsorted(offsets, place, side="right")) - 1
        raise InputError(f"row {row + 1}: a {what} is null", hint="leave it out")
    type = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if not any(is_type(type) for is_type in _TYPES):
        raise InputError(f"{type} is not a type of {what}s", hint="give strings or ints")
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    distinct = encoded.dictionary.dictionary_encode().indices.to_numpy()  # one that was given may hold a value twice
    return cast("Array", distinct[encoded.indices.to_numpy()])


def _with_last(codes: Array, offsets: Array, last: Array) -> tuple[Array, Array]:
    """Return the rows with one more tag each, at their end."""
    longer = offsets + np.arange(len(offsets))
    out = np.empty(longer[-1], codes.dtype)
    is_last = np.zeros(len(out), bool)
    is_last[longer[1:] - 1] = True
    out[is_last], out[~is_last] = last, codes
    return out, longer
