"""Unions: the interfaces of all descriptors that consist of the commonest tags only.

For each mask of the h commonest tags, the interfaces of all descriptors within it. h is the largest
number with which all lists together, padding included, are no longer than the number of filters, or
short.
The arrays are drawn in `_kernels/tag_matcher.pxd`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cbnet.matching.engines.descriptors import TableDescriptors, targets_of

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Array

_MAX_TAGS = 8
_SHORT = 512
_PAD = np.full(16, 2**31 - 1, np.uint32)  # above all targets, after each list


def build(distinct: TableDescriptors, room: int) -> dict[str, Array]:
    """Return the lists of unions, together no longer than `room`, or short; the list of no tag always exists."""
    room = max(room, _SHORT)
    rarest = distinct.tags[distinct.offsets[:-1]]
    common = [(_mask(distinct, row), targets_of(distinct, row)) for row in np.flatnonzero(rarest < _MAX_TAGS).tolist()]
    lists = [distinct.always]
    for tags in range(1, _MAX_TAGS + 1):
        larger = _lists(distinct.always, [(mask, targets) for mask, targets in common if mask < 1 << tags], tags, room)
        if larger is None:
            break
        lists = larger
    return _packed(lists)


def without_tags(always: Array) -> dict[str, Array]:
    """Return the arrays of a table that unites only the interfaces of empty filters."""
    return _packed([always])


def always(arrays: dict[str, Array]) -> Array:
    """Return the interfaces of empty filters: the list of no tag."""
    first, end = arrays["union_offsets"][:2].astype(np.int64)
    return arrays["union_targets"][first : end - len(_PAD)]


def _packed(lists: list[Array]) -> dict[str, Array]:
    offsets = np.append(0, np.cumsum([len(targets) + len(_PAD) for targets in lists]))
    padded = [part for targets in lists for part in (targets, _PAD)]
    return {"union_offsets": offsets.astype(np.uint32), "union_targets": np.concatenate(padded).astype(np.uint32)}


def _mask(distinct: TableDescriptors, row: int) -> int:
    tags = distinct.tags[distinct.offsets[row] : distinct.offsets[row + 1]]
    return sum(1 << tag for tag in tags.tolist())


def _lists(always: Array, common: list[tuple[int, Array]], tags: int, room: int) -> list[Array] | None:
    """Return the list of every mask of the first tags; None if together, padded, they are longer than `room`."""
    lists = []
    for mask in range(1 << tags):
        within = [targets for own, targets in common if own & ~mask == 0]
        lists.append(np.unique(np.concatenate([always, *within])))
        room -= len(lists[-1]) + len(_PAD)
        if room < 0:
            return None
    return lists
