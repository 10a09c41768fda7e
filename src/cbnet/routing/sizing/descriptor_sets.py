"""Very many descriptors of nodes as arrays, read from files, and the minimal sets among some of them [2014 §3.2.1].

Equal descriptors share one distinct set of tags; sets are numbered by their first descriptor.

A file of descriptors is tab-separated, with a column of space-separated tags.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv

from cbnet.errors import InputError
from cbnet.files import unreadable
from cbnet.matching.minimal_sets import TagSets, encode_sets, first_equal, minimal_masks, one_group, subset_masks
from cbnet.matching.storage.arrow_values import is_utf8
from cbnet.topology import Tree

Ids: TypeAlias = NDArray[np.int32]
Numbers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


class DescriptorSets:
    """Sets of tags, each registered at a node."""

    def __init__(self, owners: Ids, tags: pa.ListArray) -> None:
        """Build the arrays; owners: int32[n], the node of each descriptor; tags: its strings or ints."""
        if (
            len(owners) != len(tags)
            or not len(tags)
            or tags.null_count
            or not pc.min(pc.list_value_length(tags)).as_py()
        ):
            raise InputError("every descriptor needs a node and a tag", hint="leave out those without tags")
        self.owners = owners
        self.tags = tags
        sets = encode_sets(tags)
        # examples: int64[s], the first descriptor of each set; sets: int64[n], the set of each descriptor
        self.examples, self.sets = np.unique(first_equal(sets), return_inverse=True)
        self.distinct = sets.take(self.examples)
        self._by_size = np.argsort(self.sizes, kind="stable")
        self._groups, self._masks = one_group(self.distinct), np.ones(len(self.distinct), dtype=np.uint64)
        self._is_present = np.zeros(len(self.distinct), dtype=np.bool_)  # all False between calls

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def sizes(self) -> Numbers:
        """The number of tags of each set: int64[s]."""
        return self.distinct.sizes

    def present(self, rows: Numbers) -> Numbers:
        """Return the distinct sets of these descriptors, ascending."""
        self._is_present[self.sets[rows]] = True
        present = np.flatnonzero(self._is_present)
        self._is_present[present] = False
        return present

    def minimal(self, sets: Numbers) -> Numbers:
        """Return the distinct sets that contain no other one of `sets`, ascending."""
        self._is_present[sets] = True
        by_size = self._by_size[self._is_present[self._by_size]]
        self._is_present[sets] = False
        return np.flatnonzero(minimal_masks(self._groups, self.distinct, self._masks, by_size))

    def has_subset(self, sets: Numbers, among: Numbers) -> Flags:
        """Return for each set whether it has a proper subset in `among`: bool[sets]."""
        chosen, others = self.distinct.take(sets), self.distinct.take(among)
        masks = subset_masks(
            one_group(others), others, self._masks[: len(among)], one_group(chosen), chosen, chosen.sizes - 1
        )
        return masks > 0

    def owner_positions(self, tree: Tree) -> TagSets:
        """Return the positions of the owners of each set in the preorder of a tree, ascending."""
        bits = len(tree.preorder).bit_length()
        keys = np.unique(self.sets << bits | tree.positions[self.owners])
        offsets = np.searchsorted(keys >> bits, np.arange(len(self.distinct) + 1))
        return TagSets(offsets, (keys & (1 << bits) - 1).astype(np.int32))


_COLUMN = "tags"
_HINT = "write a header such as user, item, tags, separated by tabs"


def random_descriptors(path: Path, nodes: int, seed: int) -> tuple[DescriptorSets, int]:
    """Return the descriptors of a file, each at a random node, and the number of rows without tags."""
    tags, empty = read_tags(path)
    return DescriptorSets(np.random.default_rng(seed).integers(nodes, size=len(tags), dtype=np.int32), tags), empty


def read_tags(path: Path) -> tuple[pa.ListArray, int]:
    """Return the tags of each row that has any, and the number of rows without tags."""
    texts = pc.utf8_trim_whitespace(_texts(path))
    tagged = texts.filter(pc.fill_null(pc.greater(pc.utf8_length(texts), 0), fill_value=False))
    if not len(tagged):
        raise InputError("the file has no tags", file=str(path))
    return pc.split_pattern_regex(tagged, r"\s+"), len(texts) - len(tagged)


def _texts(path: Path) -> pa.StringArray:
    """Return the column of tags."""
    ragged: list[csv.InvalidRow] = []
    try:
        column = _column(path, ragged)
    except OSError as error:
        raise unreadable(path, error) from None
    except pa.ArrowKeyError:
        raise InputError(f"there is no column {_COLUMN}", hint=_HINT, file=str(path)) from None
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        if ragged:
            row = ragged[0]
            problem = f"expected {row.expected_columns:,} columns as in the header, not {row.actual_columns:,}"
            hint = "write tabs between columns, and spaces between tags"
            raise InputError(problem, hint=hint, line=row.number, file=str(path)) from None
        raise InputError(str(error).split("\n")[0], hint=_HINT, file=str(path)) from None
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        row = next(row for row, text in enumerate(column.to_pylist(), 1) if not is_utf8(text))
        raise InputError(f"row {row} is not UTF-8", hint="save the file as UTF-8", file=str(path)) from None


def _column(path: Path, ragged: list[csv.InvalidRow]) -> pa.BinaryArray:
    """Return the column as bytes; a row with the wrong number of columns is appended to `ragged`."""

    def append(row: csv.InvalidRow) -> str:
        ragged.append(row)
        return "error"

    table = csv.read_csv(
        str(path),
        read_options=csv.ReadOptions(use_threads=False),  # threads lose the row numbers
        parse_options=csv.ParseOptions(delimiter="\t", quote_char=False, invalid_row_handler=append),
        convert_options=csv.ConvertOptions(include_columns=[_COLUMN], column_types={_COLUMN: pa.binary()}),
    )
    return table[_COLUMN].combine_chunks()
