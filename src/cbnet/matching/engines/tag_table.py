"""The exact tag table: a descriptor is filed under its rarest tag, and there by its second rarest.

A message has few tags. Each leads to the descriptors of which it is the rarest; those whose second
rarest tag the message lacks are skipped, and the others are checked to the end. The interfaces of the
commonest tags, thousands of them, are united at build: see `_kernels/tag_matcher.pxd`.
The arrays are drawn in `_kernels/tag_sets.pxd`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet._kernels import tag_sets
from cbnet.matching.engines import descriptors
from cbnet.matching.engines import tag_unions as unions
from cbnet.matching.engines.descriptors import NO_CONSTANTS, TableDescriptors, distinct_descriptors
from cbnet.matching.storage.columns import lengths_of

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Array, Columns

_NO_OWNER = np.uint32(2**32 - 1)


def build(
    columns: Columns,
    report: Callable[[str], None] = lambda _: None,
    _: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Array]:
    """Return the arrays of an exact tag table over filters that have tags only."""
    report("finding equal descriptors")
    distinct = distinct_descriptors(columns)
    report("filing every descriptor under its rarest tag")
    sets = set_arrays(distinct.tags, distinct.offsets, np.arange(len(distinct)), distinct.owners, len(columns.symbols))
    report("uniting the interfaces of common tags")
    return {**sets, **distinct.groups, **unions.build(distinct, len(columns)), **NO_CONSTANTS}


def set_arrays(tags: Array, offsets: Array, rows: Array, owners: Array, count: int) -> dict[str, Array]:
    """Return the arrays of some rows of tags, distinct and none empty, each with its owner.

    tags: uint32, below `count`, falling in each row. offsets: int64. rows: int64. owners: uint32[len(rows)].
    """
    lengths = lengths_of(offsets)[rows]
    firsts = offsets[:-1][rows]
    single = np.flatnonzero(lengths == 1)
    singles = np.full(count, _NO_OWNER)
    singles[tags[firsts[single]]] = owners[single]
    several = np.flatnonzero(lengths > 1)
    pivots, seconds = tags[firsts[several]], tags[firsts[several] + 1]
    order = np.argsort(pivots.astype(np.uint64) << np.uint64(32) | seconds, kind="stable")
    several = several[order]
    buckets = np.zeros(count + 1, np.uint32)
    np.cumsum(np.bincount(pivots, minlength=count), out=buckets[1:])
    rests, others = np.empty(len(several) + 1, np.uint32), np.empty(int((lengths[several] - 2).sum()), np.uint32)
    tag_sets.fill_rests(tags, offsets, rows[several], rests, others)
    return {
        "set_singles": singles, "set_buckets": buckets, "set_seconds": seconds[order],
        "set_owners": owners[several], "set_rests": rests, "set_others": others,
    }  # fmt: skip


def filters_of(arrays: dict[str, Array]) -> tuple[Array, Array, Array]:
    """Return targets, offsets and words of the filters of a table: the inverse of `build`."""
    singles = np.flatnonzero(arrays["set_singles"] != _NO_OWNER)
    lengths = np.append(np.ones(len(singles), np.int64), lengths_of(arrays["set_rests"]) + 2)
    offsets = np.append(0, np.cumsum(lengths))
    tags = np.empty(offsets[-1], np.uint32)
    firsts = offsets[:-1]
    entries = firsts[len(singles) :]
    tags[firsts[: len(singles)]] = singles
    tags[entries] = np.repeat(np.arange(len(arrays["set_buckets"]) - 1), lengths_of(arrays["set_buckets"]))
    tags[entries + 1] = arrays["set_seconds"]
    is_other = np.ones(len(tags), bool)
    is_other[firsts] = is_other[entries + 1] = False
    tags[is_other] = arrays["set_others"]
    owners = np.append(arrays["set_singles"][singles], arrays["set_owners"])
    groups = {name: arrays[name] for name in ("group_offsets", "group_targets")}
    return descriptors.filters_of(TableDescriptors(tags, offsets, owners, groups, unions.always(arrays)))
