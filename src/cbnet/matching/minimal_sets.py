"""Sets of tags as flat arrays, and the minimal ones: those that contain no other set.

    {1, 4}  {4}  {2, 4, 9}        offsets   0   2 3     6      int64[n + 1]
                                  tags      1 4 4 2 4 9        int32, rising in each set

Tags are numbered by falling frequency, so the last tag of a set is its rarest.

A router keeps only the minimal ones of the descriptors behind an interface, because a message that matches a set
matches every subset of it [2014 §3.2.1]. Two kernels find them, both exact and without a Python object per set:

| kernel        | functions                      | measured                                                         |
|---------------|--------------------------------|------------------------------------------------------------------|
| `set_minimal` | `minimal`                      | twice as fast as the trie on 10**6 sets of 3 to 8 tags             |
| `set_trie`    | `minimal_masks`, `subset_masks` | sets that are present in some of up to 64 cases, such as on trees |

A mask has a bit for each case. A set is redundant in a case only if one of its subsets is present in that case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cbnet._kernels import set_minimal as kernel
from cbnet._kernels import set_trie
from cbnet._kernels.word_rows import sort_rows
from cbnet.errors import InputError, LimitError
from cbnet.matching.engines.tag_table import set_arrays
from cbnet.matching.storage.columns import Array, offsets_of, run_items

Tags: TypeAlias = NDArray[np.int32]
Numbers: TypeAlias = NDArray[np.int64]

_MAX_INT32 = 2**31 - 1
Masks: TypeAlias = NDArray[np.uint64]
_MAX_SETS = 2**32 - 2  # also of the tags in all sets
_TYPES = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_null)


@dataclass(frozen=True, eq=False)
class TagSets:
    """Sets of tags, each a row of rising numbers."""

    offsets: Numbers
    tags: Tags

    @classmethod
    def of(cls, sets: Iterable[Iterable[int]]) -> TagSets:
        """Build the arrays from iterables of tags."""
        rows = [sorted(row) for row in sets]
        return cls(
            offsets_of([len(row) for row in rows]), np.array([tag for row in rows for tag in row], dtype=np.int32)
        )

    @classmethod
    def from_arrow(cls, lists: pa.Array) -> TagSets:
        """Read a column of lists of int32, without a copy where possible."""
        offsets = np.asarray(lists.offsets).astype(np.int64)
        if not len(offsets):  # an empty Arrow column may have none
            offsets = np.zeros(1, dtype=np.int64)
        tags = np.asarray(lists.values)[offsets[0] : offsets[-1]]
        return cls(offsets - offsets[0], np.ascontiguousarray(tags, dtype=np.int32))

    @classmethod
    def concatenate(cls, parts: Sequence[TagSets]) -> TagSets:
        """Concatenate several collections."""
        sizes = np.concatenate([part.sizes for part in parts]) if parts else np.zeros(0, dtype=np.int64)
        return cls(offsets_of(sizes), np.concatenate([np.zeros(0, dtype=np.int32), *(part.tags for part in parts)]))

    def to_arrow(self) -> pa.Array:
        """Return a column of lists of int32; of large lists, if 32-bit offsets are too small."""
        return list_array(self.offsets, pa.array(self.tags))

    def to_lists(self) -> list[list[int]]:
        """Return the tags of each set."""
        tags, ends = self.tags.tolist(), self.offsets.tolist()
        return [tags[a:b] for a, b in pairwise(ends)]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def sizes(self) -> Numbers:
        """The number of tags of each set: int64[n]."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> Numbers:
        """The set that each tag belongs to: int64[tags]."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def take(self, rows: NDArray[np.integer]) -> TagSets:
        """Return the sets of these rows, in their order."""
        offsets, positions = run_items(self.offsets[rows], self.sizes[rows])
        return TagSets(offsets, self.tags[positions])

    def prefixes(self, sizes: Numbers) -> TagSets:
        """Return the first `sizes[i]` tags of each set i; sizes: int64[n]."""
        offsets, positions = run_items(self.offsets[:-1], sizes)
        return TagSets(offsets, self.tags[positions])


def list_array(offsets: Numbers, elements: pa.Array) -> pa.Array:
    """Return a column of lists; offsets: int64[n + 1]."""
    if offsets[-1] > _MAX_INT32:
        return pa.LargeListArray.from_arrays(pa.array(offsets), elements)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), elements)


def minimal(sets: pa.Array | pa.ChunkedArray, groups: pa.Array | pa.ChunkedArray | None = None) -> Array:
    """Return the rows of the sets that contain no other set, the first of equal ones: int64, rising.

    sets: a list or large list of strings or of ints; order and repetition inside a set do not matter.
    groups: a string or an int per set, such as an interface; only sets of the same group are compared.
    """
    tags, offsets, count = _numbered(sets, groups)
    empty = np.flatnonzero(np.diff(offsets) == 0)
    if len(empty):  # every set contains it
        return cast("Array", empty[:1])
    _sort_falling(tags, offsets)
    singles = np.full(count, -1, np.int64)
    kernel.find_singles(tags, offsets, singles)
    rows = _candidates(tags, offsets, singles >= 0)
    is_minimal = np.zeros(len(rows), np.uint8)
    filed = set_arrays(tags, offsets, rows, np.zeros(len(rows), np.uint32), count)
    kernel.mark_minimal(filed, tags, offsets, rows, is_minimal)
    return np.sort(np.append(singles[singles >= 0], rows[is_minimal > 0]))


def minimal_masks(groups: Tags, sets: TagSets, masks: Masks, rows: Numbers | None = None) -> Masks:
    """Return the cases of each set in which it contains no other set of its group: uint64[n]. No set may be empty.

    Of equal sets with a case in common, the first has it. groups: int32[n], masks: uint64[n]. rows: the sets to
    compare, by rising size, if not all; the others get 0.
    """
    left = np.zeros(len(sets), dtype=np.uint64)
    order = np.argsort(sets.sizes, kind="stable") if rows is None else rows
    set_trie.drop_covered(groups, sets.offsets, sets.tags, masks, order, left)
    return left


def subset_masks(
    groups: Tags, sets: TagSets, masks: Masks, query_groups: Tags, queries: TagSets, max_sizes: Numbers
) -> Masks:
    """Return the cases in which each query contains a set of its group, of at most `max_sizes` tags: uint64[queries].

    groups: int32[n], masks: uint64[n], query_groups: int32[queries], max_sizes: int64[queries].
    """
    found = np.zeros(len(queries), dtype=np.uint64)
    set_trie.find_covered(
        groups, sets.offsets, sets.tags, masks, query_groups, queries.offsets, queries.tags, max_sizes, found
    )
    return found


def first_equal(sets: TagSets, groups: Tags | None = None) -> Numbers:
    """Return for each set the first row with an equal set of its group: int64[n]; groups: int32[n], or one for all."""
    firsts = np.empty(len(sets), dtype=np.int64)
    set_trie.number_rows(one_group(sets) if groups is None else groups, sets.offsets, sets.tags, firsts)
    return firsts


def one_group(sets: TagSets) -> Tags:
    """Return the groups of sets that are all compared with each other: int32[n]."""
    return np.zeros(len(sets), dtype=np.int32)


def encode_sets(sets: pa.Array | pa.ChunkedArray) -> TagSets:
    """Return lists of strings or ints as sets of tags that are numbered by falling frequency."""
    tags, offsets, _ = _numbered(sets, None)
    size = _sort_falling(tags, offsets)
    last = np.repeat(offsets[:-1] + offsets[1:] - 1, np.diff(offsets))  # the kernel's rows fall
    return TagSets(offsets, tags[last - np.arange(size)].astype(np.int32))


def _sort_falling(tags: Array, offsets: Array) -> int:
    """Sort each row in descending order and drop repeated tags, in place; return the number of tags left."""
    size = sort_rows(np.invert(tags, out=tags), offsets)
    np.invert(tags, out=tags)
    return size


def _candidates(tags: Array, offsets: Array, is_single: Array) -> Array:
    """Return the first rows of the distinct sets that contain no single-tag set."""
    rows = np.empty(len(offsets) - 1, np.int64)
    rows = rows[: kernel.without_singles(tags, offsets, is_single.view(np.uint8), rows)].copy()
    slots = np.zeros(1 << (2 * len(rows) + 1).bit_length(), np.uint32)
    return rows[: kernel.distinct_sets(tags, offsets, rows, slots)].copy()


def _numbered(sets: pa.Array | pa.ChunkedArray, groups: pa.Array | pa.ChunkedArray | None) -> tuple[Array, Array, int]:
    """Return the tags of all sets, numbered by falling frequency, the offsets of the sets and the number of tags.

    The group of a set is added to it as a tag, so that sets of different groups never contain each other.
    """
    codes, offsets = _coded(sets)
    count = int(codes.max(initial=-1)) + 1
    if groups is not None:
        group = _codes(groups.combine_chunks() if isinstance(groups, pa.ChunkedArray) else groups, "group")
        if len(group) != len(offsets) - 1:
            raise InputError(
                f"there are {len(offsets) - 1:,} sets and {len(group):,} groups", hint="give one group per set"
            )
        codes, offsets = _with_last(codes, offsets, group + count)
        count += int(group.max(initial=-1)) + 1
    for what, size in (("sets", len(offsets) - 1), ("tags in all sets", len(codes))):
        if size > _MAX_SETS:
            raise LimitError(what, size, _MAX_SETS, hint="split them")
    numbers = np.empty(count, np.uint32)
    numbers[np.argsort(-np.bincount(codes, minlength=count), kind="stable")] = np.arange(count, dtype=np.uint32)
    return numbers[codes], offsets, count


def _coded(sets: pa.Array | pa.ChunkedArray) -> tuple[Array, Array]:
    """Return a code for each tag of all sets, equal for equal tags, and the offsets of the sets."""
    if not (pa.types.is_list(sets.type) or pa.types.is_large_list(sets.type)):
        raise InputError(f"{sets.type} is not a list of tags", hint="give the sets as lists of strings or of ints")
    if isinstance(sets, pa.ChunkedArray):  # 32-bit offsets may be too small for all chunks together
        tag = sets.type.value_type
        sets = sets.cast(pa.large_list(pa.large_string() if pa.types.is_string(tag) else tag)).combine_chunks()
    if sets.null_count:
        row = pc.index(sets.is_null(), True).as_py() + 1
        raise InputError(f"row {row}: the set is null", hint="write a set without tags as an empty list")
    offsets = offsets_of(pc.list_value_length(sets).to_numpy())
    return _codes(sets.flatten(), "tag", offsets), offsets


def _codes(values: pa.Array, what: str, offsets: Array | None = None) -> Array:
    """Return a code for each value, from 0 on; `offsets` are those of the rows that hold the values."""
    if values.null_count:
        position = pc.index(values.is_null(), True).as_py()
        row = position if offsets is None else int(np.searchsorted(offsets, position, side="right")) - 1
        raise InputError(f"row {row + 1}: a {what} is null", hint="leave it out")
    type = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if not any(is_type(type) for is_type in _TYPES):
        raise InputError(f"{type} is not a valid type for {what}s", hint="give strings or ints")
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    distinct = encoded.dictionary.dictionary_encode().indices.to_numpy()  # the caller's dictionary may repeat a value
    return cast("Array", distinct[encoded.indices.to_numpy()])


def _with_last(codes: Array, offsets: Array, last: Array) -> tuple[Array, Array]:
    """Return the rows with one more tag at the end of each."""
    longer = offsets + np.arange(len(offsets))
    out = np.empty(longer[-1], codes.dtype)
    is_last = np.zeros(len(out), bool)
    is_last[longer[1:] - 1] = True
    out[is_last], out[~is_last] = last, codes
    return out, longer
