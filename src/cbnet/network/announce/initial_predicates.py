"""Predicates that the nodes of a network have before any client subscribes.

Every router starts with the records of all nodes, in their first versions, before its first link is up. So nobody
requests them; only changes are flooded from then on.

    predicates of all nodes ─► encoded as in records ─► one table of all, compiled once

All routers of a machine share the table, as they are forked from the process that compiled it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from cbnet.errors import InputError, LimitError
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.matching import Table
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.files.rule_files import read_columns
from cbnet.matching.storage.columns import Columns, columns_of
from cbnet.network.protocol.filter_codec import canonical_filter, filter_to_bytes

MAX_NODE_FILTERS = 1_000_000  # of one node's predicate
Edges: TypeAlias = Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class InitialPredicates:
    """The predicates of all nodes, and the links of the network they were computed for."""

    filters: Mapping[str, Mapping[bytes, None]]  # encoded, of each node, in the order of the graph
    lives: Mapping[str, int]  # of the routers at their first start: the first version of a record is (1, life)
    table: Table[int]  # of all; an interface is the index of a node in `filters`
    edges: Edges  # lengths, by the names of both ends, the smaller first

    @property
    def count(self) -> int:
        """The number of all filters."""
        return sum(map(len, self.filters.values()))


def read_initial_predicates(
    path: Path, nodes: Sequence[str], lives: Mapping[str, int], edges: Edges
) -> InitialPredicates:
    """Read the predicates of nodes from a file, or a folder of Parquet files; a node may have none."""
    try:
        return initial_predicates_from(_columns(path), nodes, lives, edges)
    except InputError as error:
        raise error.at(file=error.file or str(path)) from None


def initial_predicates(
    predicates: Mapping[str, Iterable[Filter]], nodes: Sequence[str], lives: Mapping[str, int], edges: Edges
) -> InitialPredicates:
    """Return initial predicates built from filters of nodes."""
    return initial_predicates_from(
        columns_of({name: Predicate(each) for name, each in predicates.items()}), nodes, lives, edges
    )


def initial_predicates_from(
    columns: Columns, nodes: Sequence[str], lives: Mapping[str, int], edges: Edges
) -> InitialPredicates:
    """Return initial predicates built from columns whose interfaces are names of nodes."""
    indexes = {name: index for index, name in enumerate(nodes)}
    names = [str(interface) for interface in columns.interfaces]
    for name in names:
        if name not in indexes:
            raise InputError(f"predicate of {name!r}, which is not a node of the graph", hint="run the pipeline again")
    filters: dict[str, dict[bytes, None]] = {name: {} for name in nodes}
    for target, filter in _filters(columns):
        filters[names[target]][filter_to_bytes(canonical_filter(filter))] = None
    largest = max(map(len, filters.values()), default=0)
    if largest > MAX_NODE_FILTERS:
        raise LimitError("filters of one node", largest, MAX_NODE_FILTERS)
    numbered = replace(columns, interfaces=[indexes[name] for name in names])
    return InitialPredicates(filters, lives, Table(CompiledTable.build(numbered)), edges)


def _filters(columns: Columns) -> Iterator[tuple[int, Filter]]:
    for index, target in enumerate(columns.targets.tolist()):
        yield target, columns.filter(index)


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
        return columns_from_arrow(pa.concat_tables([pq.ParquetFile(each).read() for each in files]))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"not a Parquet file: {error}", hint="run the pipeline again") from None
