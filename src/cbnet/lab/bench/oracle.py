"""Oracle: what is the right answer, said by nothing that is measured?

It reads the Arrow table of filters by itself, for `matching.reference`; of what the engines share
(words, columns, encoded messages) it uses nothing, so that an error there shows, too.

To try all filters of a large table is too slow. But a constraint holds only if the message has its
attribute: a filter that asks for another name cannot match. All filters that this leaves, the
*candidates*, are tried, so the answer is complete and tells missed interfaces from wrong ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate

_VALUES = ("string", "int", "float", "bool")


class Oracle:
    """The filters of a generated table, sorted by interface and filter, as values of the language."""

    def __init__(self, filters: pa.Table) -> None:
        self._filters = filters.combine_chunks()
        names = self._filters["name"].combine_chunks()
        self._names = {name: code for code, name in enumerate(names.dictionary.to_pylist())}
        self._codes = names.indices.fill_null(len(self._names)).to_numpy()  # a filter without names: one more
        filter = self._filters["filter"].to_numpy()
        self._starts = np.flatnonzero(np.diff(filter, prepend=filter[0] - 1))
        self._ends = np.append(self._starts[1:], len(filter))

    def candidates(self, members: Mapping[str, Any]) -> NDArray[np.int64]:
        """Return the places of the filters all of whose names the message has."""
        present = np.zeros(len(self._names) + 1, bool)
        present[[self._names[name] for name in members if name in self._names]] = True
        present[-1] = True
        return np.flatnonzero(np.logical_and.reduceat(present[self._codes], self._starts))

    def all_predicates(self) -> dict[int, Predicate]:
        """Return the predicate of every interface."""
        return self.predicates(np.arange(len(self._starts)))

    def predicates(self, places: NDArray[np.int64]) -> dict[int, Predicate]:
        """Return the predicates that some filters make up, by interface."""
        lengths = self._ends[places] - self._starts[places]
        rows = np.repeat(self._starts[places] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        columns = self._filters.take(pa.array(rows)).to_pydict()
        filters: dict[int, list[Filter]] = {}
        end = 0
        for length in lengths.tolist():
            first, end = end, end + length
            constraints = (_constraint(columns, row) for row in range(first, end) if columns["op"][row] is not None)
            filters.setdefault(columns["interface"][first], []).append(Filter(constraints))
        return {interface: Predicate(said) for interface, said in filters.items()}


def _constraint(columns: dict[str, list[Any]], row: int) -> Constraint:
    value = next(columns[kind][row] for kind in _VALUES if columns[kind][row] is not None)
    return Constraint(columns["name"][row], Op(columns["op"][row]), value)
