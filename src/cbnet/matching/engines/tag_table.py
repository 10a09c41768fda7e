"""The exact tag table: a descriptor is filed under its rarest tag, and there by its second rarest.

A message has few tags. Each leads to the descriptors of which it is the rarest; those whose second
rarest tag the message lacks are skipped, and the others are checked to the end. The arrays are drawn in
`_kernels/tag_sets.pxd`. A descriptor is stored once, however many interfaces have it; its *owner* is the one
interface, or a group of them.

The interfaces of the commonest tags, thousands of them, are united at build: for each mask of the h commonest
tags, the interfaces of all descriptors within it. h is the largest number with which all lists together,
padding included, are no longer than the number of filters, or short. These arrays are drawn in
`_kernels/tag_matcher.pxd`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cbnet._kernels import tag_sets, word_rows
from cbnet.errors import InputError, LimitError
from cbnet.matching.engines.owners import GROUP, by_target, members_of, owned_filters
from cbnet.matching.storage.codes import SYMBOL_SHIFT, TEST_SHIFT, Test, symbols_of
from cbnet.matching.storage.columns import Array, Columns, constant_arrays, lengths_of, offsets_of, run_items

_MAX_ALL_TAGS = 2**32 - 1  # of all descriptors together
_MAX_TARGETS = 2**31 - 1
_NO_OWNER = np.uint32(2**32 - 1)
_MAX_COMMON = 8
_SHORT = 512
_PAD = np.full(16, 2**31 - 1, np.uint32)  # above all targets, after each list


@dataclass(frozen=True)
class TableDescriptors:
    """The distinct descriptors of a table, none empty, and their owners."""

    tags: Array  # uint32[…], in each set the rarest first: the commonest tag of the table is 0
    offsets: Array  # int64[sets + 1]
    owners: Array  # uint32[sets]
    groups: dict[str, Array]  # the interfaces of owners from GROUP on
    always: Array  # uint32[…], the interfaces of empty filters, sorted

    def __len__(self) -> int:
        return len(self.owners)


def check_tags_only(columns: Columns) -> None:
    """Raise InputError if a filter has a constraint, naming the first such filter."""
    constraints = np.flatnonzero(symbols_of(columns.words) < columns.names)
    if len(constraints):
        row = int(np.searchsorted(columns.offsets, constraints[0], side="right")) - 1
        rule = columns.interfaces[int(columns.targets[row])]
        raise InputError(
            f"rule {rule!r}: the filter `{columns.filter(row)}` has a constraint, not only tags",
            hint="use the engine pivot",
        )


def distinct_descriptors(columns: Columns) -> TableDescriptors:
    """Return the distinct descriptors of filters that have tags only."""
    for what, count, limit in (
        ("tags in all descriptors of one table", len(columns.words), _MAX_ALL_TAGS),
        ("rules in one table", len(columns.interfaces), _MAX_TARGETS),
    ):
        if count > limit:
            raise LimitError(what, count, limit, hint="split the table")
    lengths = lengths_of(columns.offsets)
    rows, owners, groups = owned_filters(columns, np.flatnonzero(lengths))
    tags, offsets = _rarest_first(columns, rows)
    return TableDescriptors(tags, offsets, owners, groups, np.unique(columns.targets[lengths == 0]))


def _rarest_first(columns: Columns, rows: Array) -> tuple[Array, Array]:
    """Return the tags of some filters, the rarest first: the words of a filter are sorted, commonest tag first."""
    lengths = lengths_of(columns.offsets)[rows]
    offsets = offsets_of(lengths)
    at = np.repeat(columns.offsets[1:][rows] - 1 + offsets[:-1], lengths) - np.arange(offsets[-1])
    return symbols_of(columns.words[at]).astype(np.uint32), offsets


def targets_of(descriptors: TableDescriptors, index: int) -> Array:
    """Return the interfaces of a descriptor: uint32, sorted."""
    owner = descriptors.owners[index]
    if owner < GROUP:
        return descriptors.owners[index : index + 1]
    return members_of(owner, descriptors.groups)


def descriptor_filters(descriptors: TableDescriptors) -> tuple[Array, Array, Array]:
    """Return targets, offsets and words of the filters, one for each interface of a descriptor."""
    which, targets = by_target(descriptors.owners, descriptors.groups)
    offsets, at = run_items(descriptors.offsets[:-1][which], lengths_of(descriptors.offsets)[which])
    words = descriptors.tags[at].astype(np.uint64) << SYMBOL_SHIFT | Test.TAG << TEST_SHIFT
    always = descriptors.always
    offsets = np.append(offsets, np.full(len(always), offsets[-1]))
    word_rows.sort_rows(words, offsets)
    return np.append(targets, always), offsets, words


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
    return {**sets, **distinct.groups, **_unions(distinct, len(columns)), **constant_arrays(columns)}


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
    rests, others = np.empty(len(several) + 1, np.uint32), np.empty(int((lengths[several] - 2).sum()), np.uint32)
    tag_sets.fill_rests(tags, offsets, rows[several], rests, others)
    return {
        "set_singles": singles, "set_buckets": offsets_of(np.bincount(pivots, minlength=count), np.uint32),
        "set_seconds": seconds[order],
        "set_owners": owners[several], "set_rests": rests, "set_others": others,
    }  # fmt: skip


def filters_of(arrays: dict[str, Array]) -> tuple[Array, Array, Array]:
    """Return targets, offsets and words of the filters of a table: the inverse of `build`."""
    singles = np.flatnonzero(arrays["set_singles"] != _NO_OWNER)
    lengths = np.append(np.ones(len(singles), np.int64), lengths_of(arrays["set_rests"]) + 2)
    offsets = offsets_of(lengths)
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
    return descriptor_filters(TableDescriptors(tags, offsets, owners, groups, always_targets(arrays)))


def _unions(distinct: TableDescriptors, room: int) -> dict[str, Array]:
    """Return the lists of unions, together no longer than `room`, or short; the list of no tag always exists."""
    room = max(room, _SHORT)
    rarest = distinct.tags[distinct.offsets[:-1]]
    common = []
    for row in np.flatnonzero(rarest < _MAX_COMMON).tolist():
        tags = distinct.tags[distinct.offsets[row] : distinct.offsets[row + 1]].tolist()
        common.append((sum(1 << tag for tag in tags), targets_of(distinct, row)))
    lists = [distinct.always]
    for tags in range(1, _MAX_COMMON + 1):
        larger = _lists(distinct.always, [(mask, targets) for mask, targets in common if mask < 1 << tags], tags, room)
        if larger is None:
            break
        lists = larger
    return packed_unions(lists)


def always_targets(arrays: dict[str, Array]) -> Array:
    """Return the interfaces of empty filters: the list of no tag."""
    first, end = arrays["union_offsets"][:2].astype(np.int64)
    return arrays["union_targets"][first : end - len(_PAD)]


def packed_unions(lists: list[Array]) -> dict[str, Array]:
    """Return the arrays of unions; the first list is that of no tag."""
    offsets = offsets_of([len(targets) + len(_PAD) for targets in lists], np.uint32)
    padded = [part for targets in lists for part in (targets, _PAD)]
    return {"union_offsets": offsets, "union_targets": np.concatenate(padded).astype(np.uint32)}


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
