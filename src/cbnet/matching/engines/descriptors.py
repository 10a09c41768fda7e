"""The distinct descriptors of a table and their interfaces, the input of both tag engines.

A descriptor is stored once, however many interfaces have it; its *owner* is the one interface, or a
group of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cbnet._kernels import word_rows
from cbnet.errors import InputError, LimitError
from cbnet.matching.engines.owners import GROUP, by_target, members_of, owned_filters
from cbnet.matching.storage.codes import SYMBOL_SHIFT, TEST_SHIFT, Test
from cbnet.matching.storage.columns import lengths_of

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Array, Columns

_MAX_TAGS = 2**32 - 1  # of all descriptors together
_MAX_TARGETS = 2**31 - 1


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


NO_CONSTANTS: dict[str, Array] = {
    "number_high": np.empty(0), "number_low": np.empty(0, np.int16),
    "string_data": np.empty(0, np.uint8), "string_offsets": np.zeros(1, np.uint32),
    "value_set_offsets": np.zeros(1, np.uint32), "value_set_members": np.empty(0, np.uint64),
    "condition_data": np.empty(0, np.uint8), "condition_offsets": np.zeros(1, np.uint32),
}  # fmt: skip


def check_tags_only(columns: Columns) -> None:
    """Raise InputError if a filter has a constraint, naming the first such filter."""
    constraints = np.flatnonzero(columns.words >> np.uint64(SYMBOL_SHIFT) < np.uint64(columns.names))
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
        ("tags in all descriptors of one table", len(columns.words), _MAX_TAGS),
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
    offsets = np.append(0, np.cumsum(lengths))
    at = np.repeat(columns.offsets[1:][rows] - 1 + offsets[:-1], lengths) - np.arange(offsets[-1])
    return (columns.words[at] >> np.uint64(SYMBOL_SHIFT)).astype(np.uint32), offsets


def targets_of(descriptors: TableDescriptors, index: int) -> Array:
    """Return the interfaces of a descriptor: uint32, sorted."""
    owner = descriptors.owners[index]
    if owner < GROUP:
        return descriptors.owners[index : index + 1]
    return members_of(owner, descriptors.groups)


def filters_of(descriptors: TableDescriptors) -> tuple[Array, Array, Array]:
    """Return targets, offsets and words of the filters, one for each interface of a descriptor."""
    which, targets = by_target(descriptors.owners, descriptors.groups)
    lengths = lengths_of(descriptors.offsets)[which]
    offsets = np.append(0, np.cumsum(lengths))
    at = np.repeat(descriptors.offsets[:-1][which] - offsets[:-1], lengths) + np.arange(offsets[-1])
    words = descriptors.tags[at].astype(np.uint64) << np.uint64(SYMBOL_SHIFT) | np.uint64(Test.TAG << TEST_SHIFT)
    always = descriptors.always
    offsets = np.append(offsets, np.full(len(always), offsets[-1]))
    word_rows.sort_rows(words, offsets)
    return np.append(targets, always), offsets, words
