"""Initial data of the nodes of a network: their predicates, and the tables that the pipeline computed.

    predicates       node 4: #jazz and #vinyl, …            predicate of the node itself, before any client subscribes
    tables/4.cbt     interface 13: #jazz and #vinyl, …      predicate of the side of each neighbour, on all trees
                     interface 13: #news and #"tree 2"             … and on the second

All routers of a machine share the columns of the predicates, as they are forked from the process that read them. A
neighbour that computes the same content for its side sends nothing: see `announce.retained_contents`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.byte_form import filter_to_bytes, tags_to_bytes
from cbnet.matching.files.rule_files import read_columns
from cbnet.matching.minimal_sets import TagSets, minimal_masks
from cbnet.matching.storage.codes import SYMBOL_SHIFT, TEST_SHIFT, Test
from cbnet.matching.storage.columns import Columns
from cbnet.network.protocol.fields import MAX_TREES
from cbnet.routing.multitree.folding import TREE_TAG

_TEST_MASK = 0x3F


class NodePredicates:
    """The predicate of each node; a node may have none."""

    def __init__(self, columns: Columns, nodes: Sequence[str]) -> None:
        """Initialise with columns whose interfaces are names of nodes."""
        self.nodes = nodes
        self._columns = columns
        self._targets = {str(name): target for target, name in enumerate(columns.interfaces)}
        for name in self._targets:
            if name not in nodes:
                problem = f"predicate of {name!r}, which is not a node of the graph"
                raise InputError(problem, hint="run the pipeline again")

    @classmethod
    def read(cls, path: Path, nodes: Sequence[str]) -> NodePredicates:
        """Read the predicates from a file, or a folder of Parquet files."""
        try:
            return cls(_columns(path), nodes)
        except InputError as error:
            raise error.at(file=error.file or str(path)) from None

    def of(self, node: str) -> Predicate:
        """Return the predicate of a node."""
        rows = np.flatnonzero(np.asarray(self._columns.targets) == self._targets.get(node, -1))
        return Predicate(self._columns.filter(row) for row in rows.tolist())

    def __len__(self) -> int:
        return len(self._columns.targets)


def _columns(path: Path) -> Columns:
    """Read the filters of a file, or of a folder that Spark wrote."""
    if not path.is_dir():
        return read_columns(path)[0]
    import pyarrow as pa
    import pyarrow.parquet as pq

    from cbnet.matching.storage.arrow_filters import columns_from_arrow

    files = sorted(each for each in path.iterdir() if each.suffix == ".parquet")
    if not files:
        raise InputError("no Parquet file in this folder", hint="run the pipeline again")
    try:
        columns = columns_from_arrow(pa.concat_tables([pq.ParquetFile(each).read() for each in files]))
        pa.default_memory_pool().release_unused()  # memory in use at the fork counts for each router
        return columns
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"not a Parquet file: {error}", hint="run the pipeline again") from None


def read_computed_tables(path: Path, nodes: Sequence[str], trees: int) -> list[dict[str, list[bytes]]]:
    """Return the filters of each interface on each tree, encoded, by the name of the neighbour.

    nodes: all names, by id. A filter with the tag of a tree belongs to this tree only; a filter without one belongs to
    all trees on which no other filter covers it.
    """
    columns = read_columns(path)[0]
    for interface in columns.interfaces:
        if not isinstance(interface, int) or not 0 <= interface < len(nodes):
            problem = f"the table has an interface {interface!r}, which is no node of the network"
            raise InputError(problem, hint="run the pipeline again", file=str(path))
    names = [nodes[int(interface)] for interface in columns.interfaces]
    tree_of = _trees_of_words(columns)
    encoded, targets = _encoded(columns, tree_of >= 0), columns.targets.tolist()
    if (tree_of < 0).all():
        return [_by_neighbour(names, targets, encoded, range(len(encoded)))] * trees
    try:
        masks = _masks(columns, tree_of, trees)
    except InputError as error:
        raise error.at(file=str(path)) from None
    on_trees = [np.flatnonzero(masks >> np.uint64(tree) & np.uint64(1)).tolist() for tree in range(trees)]
    return [_by_neighbour(names, targets, encoded, rows) for rows in on_trees]


def _by_neighbour(
    names: Sequence[str], targets: Sequence[int], encoded: Sequence[bytes], rows: Iterable[int]
) -> dict[str, list[bytes]]:
    filters: dict[str, list[bytes]] = {}
    for row in rows:
        filters.setdefault(names[targets[row]], []).append(encoded[row])
    return filters


def _trees_of_words(columns: Columns) -> NDArray[np.int64]:
    """Return the number of the tree whose tag each word is, or -1: int64[words]."""
    symbols = np.asarray(columns.words) >> SYMBOL_SHIFT
    numbers = {symbol: _tree_number(columns.symbols[symbol]) for symbol in np.unique(symbols).tolist()}
    known = np.array([*numbers.values()], dtype=np.int64)
    trees = known[np.searchsorted([*numbers], symbols)] if len(symbols) else known
    return np.where(_are_tags(columns), trees, -1)


def _masks(columns: Columns, tree_of: NDArray[np.int64], trees: int) -> NDArray[np.uint64]:
    """Return the trees on which each filter is in the table, one bit per tree: uint64[filters]."""
    rows = np.repeat(np.arange(len(columns)), np.diff(columns.offsets))  # filter of each word
    own, marked = np.flatnonzero(tree_of < 0), np.flatnonzero(tree_of >= 0)
    sizes = np.bincount(rows[own], minlength=len(columns))
    if not _are_tags(columns).all() or not sizes.all():
        raise InputError("a filter of a folded table is no set of tags", hint="run the pipeline again")
    symbols = (np.asarray(columns.words)[own] >> SYMBOL_SHIFT).astype(np.int32)
    order = np.lexsort((symbols, rows[own]))
    sets = TagSets(np.concatenate([[0], np.cumsum(sizes)]), symbols[order])
    masks = np.full(len(columns), (1 << trees) - 1, dtype=np.uint64)
    masks[rows[marked]] &= np.uint64(1) << tree_of[marked].astype(np.uint64)  # there may be fewer trees now
    return minimal_masks(np.asarray(columns.targets).astype(np.int32), sets, masks)


def _tree_number(tag: str) -> int:
    """Return the number of a tree, from 0, by its tag; -1 for another tag."""
    number = tag.removeprefix(TREE_TAG)
    is_tree = number != tag and number.isascii() and number.isdecimal() and 1 <= int(number) <= MAX_TREES
    return int(number) - 1 if is_tree else -1


def _are_tags(columns: Columns) -> NDArray[np.bool_]:
    are_tags: NDArray[np.bool_] = (np.asarray(columns.words) >> TEST_SHIFT & _TEST_MASK) == Test.TAG
    return are_tags


def _encoded(columns: Columns, is_left_out: NDArray[np.bool_]) -> list[bytes]:
    """Return the encoded filters without the left-out tags; filters with tags only, as most are, need no objects."""
    words, kept = np.asarray(columns.words), np.flatnonzero(~is_left_out)
    symbols = (words[kept] >> SYMBOL_SHIFT).tolist()
    others = np.flatnonzero(~_are_tags(columns))
    with_others = set((np.searchsorted(columns.offsets, others, "right") - 1).tolist())
    texts = {symbol: columns.symbols[symbol] for symbol in set(symbols)}
    ends = np.searchsorted(kept, columns.offsets).tolist()
    return [
        filter_to_bytes(columns.filter(row))
        if row in with_others
        else tags_to_bytes(sorted([texts[symbol] for symbol in symbols[ends[row] : ends[row + 1]]]))
        for row in range(len(columns))
    ]
