"""Predicates that the nodes of a network have before any client subscribes.

Each router has the records of all nodes, in their first versions, before its first link is up, and all have the
same. So nobody has to ask for them: what is told from then on are changes, as always.

    predicates of all nodes ─► written, as records have them ─► one table of all, compiled once

The table is shared by all routers of a machine, as they are forked from the process that has compiled it.
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
from cbnet.matching.files.predicate_files import read_columns
from cbnet.matching.storage.columns import Columns, columns_of
from cbnet.network.protocol.filter_codec import canonical_filter, filter_to_bytes

MAX_NODE_FILTERS = 1_000_000  # in the predicate of one node
Edges: TypeAlias = Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class InitialPredicates:
    """The predicates of all nodes, and the links that the network is to have."""

    written: Mapping[str, Mapping[bytes, None]]  # the filters of each node of the graph, in the order of the graph
    lives: Mapping[str, int]  # of the routers when they first start: the first version of a record is (1, life)
    table: Table[int]  # of all; an interface is the place of a node in `written`
    edges: Edges  # by the names of the ends, the smaller first, with the length

    @property
    def count(self) -> int:
        """How many filters there are."""
        return sum(map(len, self.written.values()))


def read_initial_predicates(
    path: Path, nodes: Sequence[str], lives: Mapping[str, int], edges: Edges
) -> InitialPredicates:
    """Read the predicates of nodes from a file, or a folder of Parquet files; nodes without one want nothing."""
    try:
        return initial_predicates_from(_columns(path), nodes, lives, edges)
    except InputError as error:
        raise error.at(file=error.file or str(path)) from None


def initial_predicates(
    predicates: Mapping[str, Iterable[Filter]], nodes: Sequence[str], lives: Mapping[str, int], edges: Edges
) -> InitialPredicates:
    """Take the predicates of nodes as they are."""
    return initial_predicates_from(
        columns_of({name: Predicate(each) for name, each in predicates.items()}), nodes, lives, edges
    )


def initial_predicates_from(
    columns: Columns, nodes: Sequence[str], lives: Mapping[str, int], edges: Edges
) -> InitialPredicates:
    """Take the predicates of nodes as the columns of a table whose interfaces are the nodes' names."""
    places = {name: place for place, name in enumerate(nodes)}
    names = [str(interface) for interface in columns.interfaces]
    for name in names:
        if name not in places:
            raise InputError(f"a predicate of {name!r}, which is no node of the graph", hint="run the pipeline again")
    written: dict[str, dict[bytes, None]] = {name: {} for name in nodes}
    for target, filter in _filters(columns):
        written[names[target]][filter_to_bytes(canonical_filter(filter))] = None
    most = max(map(len, written.values()), default=0)
    if most > MAX_NODE_FILTERS:
        raise LimitError("filters of one node", most, MAX_NODE_FILTERS)
    numbered = replace(columns, interfaces=[places[name] for name in names])
    return InitialPredicates(written, lives, Table(CompiledTable.build(numbered)), edges)


def _filters(columns: Columns) -> Iterator[tuple[int, Filter]]:
    for place, target in enumerate(columns.targets.tolist()):
        yield target, columns.filter(place)


def _columns(path: Path) -> Columns:
    """Return the filters of a file, or of a folder as Spark writes it."""
    if not path.is_dir():
        return read_columns(path)
    import pyarrow as pa
    import pyarrow.parquet as pq

    from cbnet.matching.storage.arrow_filters import columns_from_arrow

    files = sorted(each for each in path.iterdir() if each.suffix == ".parquet")
    if not files:
        raise InputError("there is no Parquet file in this folder", hint="run the pipeline again")
    try:
        return columns_from_arrow(pa.concat_tables([pq.ParquetFile(each).read() for each in files]))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"not Parquet: {error}", hint="run the pipeline again") from None
