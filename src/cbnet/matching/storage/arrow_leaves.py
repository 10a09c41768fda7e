"""Leaves of Arrow rows: the values that filters use, each with its attribute, row and array elements.

    id int64, detail struct<state string>, items list<struct<sku string, n list<int64>>>, labels map<string, string>

    id            one value per row
    detail.state  one value per row
    items.sku     one value per element of `items`
    items.n       several values, of elements of `items`
    labels.…      one attribute per key

A *scope* is a set of places that hold objects: the rows, or the elements of an array. A column belongs to a
scope and has at most one cell per place; the places of a column that has no cell for some are listed. Columns and
parts of columns that no filter uses are not read. `language.message` defines the meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cbnet._kernels.symbol_table import Symbols
from cbnet.errors import InputError
from cbnet.matching.storage.arrow_values import decoded, is_text, plain_values
from cbnet.matching.storage.used_leaves import UsedArrays

MAX_DEPTH = 64  # levels of nested columns
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Scope:
    """Places that hold objects. The rows have neither array."""

    count: int
    rows: Numbers | None = None  # of each place
    elements: Numbers | None = None  # of each place: index + 1 in the elements; 0: outside arrays


class Leaves(NamedTuple):
    """Values of one attribute: a column that is neither a struct, nor a list, nor a map."""

    path: str
    symbol: int
    values: pa.Array
    rows: Numbers | None  # of each value; None: value i is of row i
    elements: Numbers | None  # of each value; None: outside arrays


class _Column(NamedTuple):
    path: str
    cells: pa.Array
    places: Numbers | None  # of each cell in its scope; None: cell i is of place i


@dataclass
class LeafReader:
    """Reads the leaves of batches, and numbers their array elements."""

    symbols: Symbols
    _parents: list[Numbers] = field(default_factory=list)  # of consecutive elements: element around each, or 0
    _array_numbers: list[Numbers] = field(default_factory=list)  # of consecutive elements
    _elements: int = 0
    _arrays: int = 0
    _first_array: dict[tuple[Scope, str], int] = field(default_factory=dict)
    _beside: dict[tuple[Scope, str], Scope] = field(default_factory=dict)

    def read(self, columns: Iterable[tuple[str, pa.Array]], rows: int) -> Iterator[Leaves]:
        """Yield the leaves of columns."""
        yield from self._object(Scope(rows), (_Column(name, column, None) for name, column in columns), 1)

    def elements(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return for each element so far the one around it (index + 1, or 0), and the number of its array."""
        none = [np.empty(0, np.int64)]
        parents, arrays = np.concatenate(none + self._parents), np.concatenate(none + self._array_numbers)
        return parents.astype(np.uint32), arrays.astype(np.uint32)

    def uses(self, path: str, type: pa.DataType) -> bool:
        """Return whether a filter uses an attribute of a column; True if that depends on its keys."""
        if path.partition(".")[0] in UsedArrays.of(self.symbols).names:
            return True
        type = storage_type(type)
        if pa.types.is_struct(type):
            return any(self.uses(f"{path}.{child.name}", child.type) for child in type.fields)
        if pa.types.is_map(type):
            return is_text(storage_type(type.key_type)) and self.symbols.is_object(path)
        if is_list(type):
            return self.uses(path, type.value_type)
        return bool(self.symbols.symbol(path, False) >= 0)

    def _object(self, scope: Scope, columns: Iterable[_Column], depth: int) -> Iterator[Leaves]:
        """Yield the leaves of the members of objects, one object per place."""
        members = [flat for column in columns for flat in self._members(column, depth)]
        arrays = sorted({path for path, cells, _ in members if _is_nested_list(cells.type)}, key=len)
        for column in members:
            inner = scope
            for array in arrays:  # an object beside an array of objects is one more element of it
                if column.path.startswith(f"{array}."):
                    if (inner, array) not in self._beside:
                        self._beside[inner, array] = self._array_elements(inner, array, np.arange(inner.count))
                    inner = self._beside[inner, array]
            yield from self._values(inner, column, depth)

    def _members(self, column: _Column, depth: int) -> Iterator[_Column]:
        """Yield the columns that filters use, with the members of structs and maps as columns of their own."""
        path, cells, places = column
        if not self.uses(path, cells.type):
            return
        _check_depth(path, depth)
        cells = decoded(cells) if _is_nested(storage_type(cells.type)) else cells
        if pa.types.is_struct(cells.type):
            for child, values in zip(cells.type.fields, cells.flatten(), strict=True):
                yield from self._members(_Column(f"{path}.{child.name}", values, places), depth + 1)
        elif pa.types.is_map(cells.type):
            for key, values, parents in _entries(cells):
                inner = parents if places is None else places[parents]
                yield from self._members(_Column(f"{path}.{key}", values, inner), depth + 1)
        else:
            yield _Column(path, cells, places)

    def _values(self, scope: Scope, column: _Column, depth: int) -> Iterator[Leaves]:
        path, cells, places = column
        if is_list(cells.type):
            _check_depth(path, depth + 1)
            parents = np.asarray(pc.list_parent_indices(cells)).astype(np.int64)
            items, places = cells.flatten(), parents if places is None else places[parents]
            if _is_nested_list(cells.type):
                inner = self._array_elements(scope, path, places)
                yield from self._object(inner, [_Column(path, items, None)], depth + 1)
            else:
                yield from self._values(scope, _Column(path, items, places), depth + 1)
            return
        rows = places if scope.rows is None else scope.rows if places is None else scope.rows[places]
        elements = scope.elements if scope.elements is None or places is None else scope.elements[places]
        yield Leaves(path, self.symbols.symbol(path, False), cells, rows, elements)

    def _array_elements(self, scope: Scope, path: str, places: Numbers) -> Scope:
        """Return new elements of the arrays of a path, in the places of a scope."""
        if (scope, path) not in self._first_array:
            self._first_array[scope, path] = self._arrays
            self._arrays += scope.count
        count = len(places)
        self._parents.append(np.zeros(count, np.int64) if scope.elements is None else scope.elements[places])
        self._array_numbers.append(self._first_array[scope, path] + places)
        elements = np.arange(self._elements + 1, self._elements + count + 1)
        self._elements += count
        return Scope(count, places if scope.rows is None else scope.rows[places], elements)


def storage_type(type: pa.DataType) -> pa.DataType:
    """Return the type of a column's values without dictionary, runs or extension type."""
    if isinstance(type, pa.BaseExtensionType):
        return storage_type(type.storage_type)
    is_encoded = pa.types.is_dictionary(type) or pa.types.is_run_end_encoded(type)
    return storage_type(type.value_type) if is_encoded else type


def holds_objects(type: pa.DataType) -> bool:
    """Return whether a column of a type holds objects or arrays."""
    return _is_nested(storage_type(type))


def is_list(type: pa.DataType) -> bool:
    """Return whether a type is of lists."""
    return any(
        is_type(type)
        for is_type in (
            pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list,
            pa.types.is_list_view, pa.types.is_large_list_view,
        )
    )  # fmt: skip


def _is_nested(type: pa.DataType) -> bool:
    return pa.types.is_struct(type) or pa.types.is_map(type) or is_list(type)


def _is_nested_list(type: pa.DataType) -> bool:
    """Return whether a type is of lists whose items are objects or lists."""
    return is_list(type) and _is_nested(storage_type(type.value_type))


def _entries(maps: pa.MapArray) -> Iterator[tuple[str, pa.Array, Numbers]]:
    """Yield each key of maps, its values, and the index of the map of each."""
    offsets = np.array(maps.offsets, np.int32)
    indexes = pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.arange(len(maps.keys))), mask=maps.is_null())
    parents = np.asarray(pc.list_parent_indices(indexes)).astype(np.int64)
    entries = indexes.flatten()
    keys = decoded(_without_views(maps.keys).take(entries)).dictionary_encode()
    order = np.argsort(keys.indices, kind="stable")
    if not len(order):
        return
    ends = np.cumsum(np.bincount(keys.indices, minlength=len(keys.dictionary)))
    [names], items = plain_values(keys.dictionary).arrays, _without_views(maps.items)
    for key, members in zip(names.to_pylist(), np.split(order, ends[:-1]), strict=True):
        if key is None:  # not UTF-8, so no filter uses it
            continue
        yield key, items.take(entries.take(pa.array(members))), parents[members]


def _without_views(cells: pa.Array) -> pa.Array:
    """Return cells with plain strings in place of views, as Polars has them in maps, which Arrow cannot take."""
    plain = _type_without_views(cells.type)
    return cells if plain == cells.type else cells.cast(plain)


def _type_without_views(type: pa.DataType) -> pa.DataType:
    if type == pa.string_view():
        return pa.large_string()
    if pa.types.is_struct(type):
        return pa.struct([field.with_type(_type_without_views(field.type)) for field in type])
    if pa.types.is_map(type):
        return pa.map_(_type_without_views(type.key_type), _type_without_views(type.item_type))
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return (pa.list_ if pa.types.is_list(type) else pa.large_list)(_type_without_views(type.value_type))
    return type


def _check_depth(path: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InputError(f"column {path[:40]!r}: nested deeper than {MAX_DEPTH} levels", hint="flatten the column")
