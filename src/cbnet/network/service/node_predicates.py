"""Predicates that the nodes of a network have before any client subscribes, read from a file.

All routers of a machine share the file's columns, as they are forked from the process that read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cbnet.errors import InputError
from cbnet.language.predicate import Predicate
from cbnet.matching.files.rule_files import read_columns
from cbnet.matching.storage.columns import Columns


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
