"""Data that the nodes of a network start with: their predicates, and the tables that the pipeline computed.

    predicates       node 4: #jazz and #vinyl, …            what the node itself wants, before any client subscribes
    tables/4.cbt     interface 13: #jazz and #vinyl, …      what the side of each neighbour wants, on the first tree

All routers of a machine share the columns of the predicates, as they are forked from the process that read them. A
neighbour that computes the same content for its side sends nothing: see `announce.retained_contents`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cbnet.errors import InputError
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.byte_form import filter_to_bytes, tags_to_bytes
from cbnet.matching.files.rule_files import read_columns
from cbnet.matching.storage.codes import SYMBOL_SHIFT, TEST_SHIFT, Test
from cbnet.matching.storage.columns import Columns

_TEST_MASK = 0x3F


class NodePredicates:
    """The predicate of each node; a node may have none."""

    def __init__(self, columns: Columns, nodes: Sequence[str]) -> None:
        """Set columns whose interfaces are names of nodes."""
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
        pa.default_memory_pool().release_unused()  # what routers are forked with counts for each of them
        return columns
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"not a Parquet file: {error}", hint="run the pipeline again") from None


def read_computed_table(path: Path, nodes: Sequence[str]) -> dict[str, list[bytes]]:
    """Return the filters of each interface, encoded, by the name of the neighbour; nodes: all names, by id."""
    columns = read_columns(path)[0]
    for interface in columns.interfaces:
        if not isinstance(interface, int) or not 0 <= interface < len(nodes):
            problem = f"the table has an interface {interface!r}, which is no node of the network"
            raise InputError(problem, hint="run the pipeline again", file=str(path))
    by_target: list[list[bytes]] = [[] for _ in columns.interfaces]
    for target, encoded in zip(columns.targets.tolist(), _encoded(columns), strict=True):
        by_target[target].append(encoded)
    return {nodes[int(name)]: filters for name, filters in zip(columns.interfaces, by_target, strict=True)}


def _encoded(columns: Columns) -> list[bytes]:
    """Return the encoded filters; those of tags only, the most frequent ones, without an object for each."""
    words = np.asarray(columns.words)
    symbols = (words >> SYMBOL_SHIFT).tolist()
    others = np.flatnonzero((words >> TEST_SHIFT & _TEST_MASK) != Test.TAG)
    with_others = set((np.searchsorted(columns.offsets, others, "right") - 1).tolist())
    texts = {symbol: columns.symbols[symbol] for symbol in set(symbols)}
    ends = np.asarray(columns.offsets).tolist()
    return [
        filter_to_bytes(columns.filter(row))
        if row in with_others
        else tags_to_bytes(sorted([texts[symbol] for symbol in symbols[ends[row] : ends[row + 1]]]))
        for row in range(len(columns))
    ]
