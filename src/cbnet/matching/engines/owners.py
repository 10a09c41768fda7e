"""Owners: the interfaces that have the same filter, as one number; drawn in `_kernels/tag_sets.pxd`.

An index stores equal filters once. The owner of such a filter is its interface or, from GROUP on, a group of them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cbnet.matching.storage.columns import Array, Columns, offsets_of, run_items
from cbnet.matching.storage.reduction import equal_neighbours

GROUP = np.uint32(2**31)


def owned_filters(columns: Columns, rows: Array) -> tuple[Array, Array, dict[str, Array]]:
    """Return the distinct ones of some filters, the owner of each, and the arrays of groups."""
    order, repeated = equal_neighbours(columns, rows)
    targets = columns.targets[order]
    first = np.flatnonzero(repeated == 0)
    sizes = np.diff(np.append(first, len(order)))
    is_group = sizes > 1
    owners = targets[first].copy()
    owners[is_group] = GROUP + np.arange(np.count_nonzero(is_group), dtype=np.uint32)
    group_offsets, group_targets = offsets_of(sizes[is_group], np.uint32), targets[np.repeat(is_group, sizes)]
    return order[first], owners, {"group_offsets": group_offsets, "group_targets": group_targets}


def members_of(owner: np.uint32, arrays: Mapping[str, Array]) -> Array:
    """Return the targets of a group: uint32, sorted."""
    first, end = arrays["group_offsets"][owner - GROUP :][:2]
    return arrays["group_targets"][first:end]


def by_target(owners: Array, arrays: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return the index of each owner once for each of its targets, and these targets."""
    is_group = owners >= GROUP
    group = np.where(is_group, owners - GROUP, 0).astype(np.int64)
    starts = arrays["group_offsets"].astype(np.int64)
    copies = np.where(is_group, np.diff(starts)[group] if len(starts) > 1 else 1, 1)
    which = np.repeat(np.arange(len(owners)), copies)
    nth = run_items(np.zeros_like(copies), copies)[1]
    targets = owners[which].copy()
    members = is_group[which]
    targets[members] = arrays["group_targets"][starts[group[which[members]]] + nth[members]]
    return which, targets
