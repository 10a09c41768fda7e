"""An oracle for matching that shares no code with the engines.

It decodes the Arrow table of filters itself, for `matching.reference`, and uses nothing that the engines
share (words, columns, encoded messages), so an error there shows too.

Trying all filters of a large table is too slow. But a constraint holds only if the message has its
attribute or tag, so only filters whose names all occur in the message, the *candidates*, can match. All of
them are tried, so the answer is complete and distinguishes missed interfaces from spurious ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Descriptor, Filter
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.parser import parse_filter
from cbnet.language.values import RESERVED_NAME

_VALUES = ("string", "int", "float", "bool")


class Oracle:
    """The filters of a generated table, sorted by interface and filter, as values of the language."""

    def __init__(self, filters: pa.Table) -> None:
        self._filters = filters.combine_chunks()
        names = self._filters["name"].combine_chunks()
        self._names = {name: code for code, name in enumerate(names.dictionary.to_pylist())}
        self._codes = names.indices.fill_null(len(self._names)).to_numpy()  # one more code: no name
        filter = self._filters["filter"].to_numpy()
        self._starts = np.flatnonzero(np.diff(filter, prepend=filter[0] - 1))
        self._ends = np.append(self._starts[1:], len(filter))

    def candidates(self, members: Mapping[str, Any]) -> NDArray[np.int64]:
        """Return the indexes of the filters all of whose names and tags occur in the message."""
        present = np.zeros(len(self._names) + 1, bool)
        own = (*members, *members.get(RESERVED_NAME, ()))
        present[[self._names[name] for name in own if name in self._names]] = True
        present[-1] = True
        return np.flatnonzero(np.logical_and.reduceat(present[self._codes], self._starts))

    def all_predicates(self) -> dict[int, Predicate]:
        """Return the predicate of every interface."""
        return self.predicates(np.arange(len(self._starts)))

    def predicates(self, indexes: NDArray[np.int64]) -> dict[int, Predicate]:
        """Return the predicates of some filters, by interface."""
        lengths = self._ends[indexes] - self._starts[indexes]
        rows = np.repeat(self._starts[indexes] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        columns = self._filters.take(pa.array(rows)).to_pydict()
        filters: dict[int, list[Filter]] = {}
        end = 0
        for length in lengths.tolist():
            first, end = end, end + length
            filter = Filter()
            for row in range(first, end):
                filter &= _part(columns, row)
            filters.setdefault(columns["rule"][first], []).append(filter)
        return {interface: Predicate(group) for interface, group in filters.items()}


def _part(columns: dict[str, list[Any]], row: int) -> Filter:
    if columns["op"][row] is None:
        return Filter()
    if columns["op"][row] == "text":
        return parse_filter(columns["string"][row])
    if columns["op"][row] == "#":
        return Descriptor([columns["name"][row]])
    value = next(columns[kind][row] for kind in _VALUES if columns[kind][row] is not None)
    return Filter([Constraint(columns["name"][row], Op(columns["op"][row]), value)])
