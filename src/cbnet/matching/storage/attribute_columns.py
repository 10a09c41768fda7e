"""Columns as attributes of messages: one description of the columns of data frames, files and Spark.

    id int64, from struct<city: string>, items list<struct<sku: string, n: int64>>, labels map<string, string>

    id, from.city        one value per row
    items.sku, items.n   a value per element of `items`
    labels.*             an attribute per key
    #                    the tags: a list of strings

A null cell is an absent attribute, so no column holds the value null.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import pyarrow as pa

from cbnet.language.relations.type_check import ALL_TYPES, Types
from cbnet.language.values import RESERVED_NAME, ValueType
from cbnet.matching.storage.arrow_leaves import is_list, storage_type
from cbnet.matching.storage.arrow_values import is_text

Path: TypeAlias = tuple[str | None, ...]  # a column, and members inside it; None: any key of a map
TAGS: Path = (RESERVED_NAME,)

_STRING, _NUMBER, _BOOL = (frozenset([kind]) for kind in (ValueType.STRING, ValueType.NUMBER, ValueType.BOOL))
_TYPES: dict[str | None, Types] = {
    "string": _STRING, "time": _STRING, "int": _NUMBER, "float": _NUMBER, "number": _NUMBER, "bool": _BOOL,
    "absent": frozenset(),
}  # fmt: skip
_KINDS = (
    (is_text, "string"),
    (pa.types.is_boolean, "bool"),
    (pa.types.is_integer, "int"),
    (pa.types.is_floating, "float"),
    (pa.types.is_decimal, "number"),
    (pa.types.is_timestamp, "time"),
    (pa.types.is_date, "time"),
    (pa.types.is_null, "absent"),
)


@dataclass(frozen=True)
class AttributeColumn:
    """An attribute that a column holds."""

    path: Path
    type: str  # as its tool names it
    kind: str | None  # string, bool, int, float, number, time, tags or absent; None: not a value
    is_several: bool = False  # in an array
    is_used: bool = False  # by a filter
    is_nullable: bool = True  # the attribute may be absent
    is_inferred: bool = False  # the kind, from the text of the cells

    @property
    def name(self) -> str:
        """The name, with `*` for any key of a map."""
        return ".".join("*" if part is None else part for part in self.path)

    @property
    def types(self) -> Types:
        """The types of its values; all if its kind says nothing."""
        return _TYPES.get(self.kind, ALL_TYPES)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """A pattern of the names of the attributes that it holds."""
        return name_pattern(self.path)


def name_pattern(path: Path) -> re.Pattern[str]:
    """Return a pattern of the names of the attributes at a path."""
    return re.compile(r"\.".join(".*" if part is None else re.escape(part) for part in path), re.DOTALL)


def attribute_columns(schema: pa.Schema, inferred: Collection[str] = ()) -> list[AttributeColumn]:
    """Return the attributes of Arrow columns; inferred: the columns whose type was inferred from text."""
    return [
        AttributeColumn(
            path, str(type), _kind(path, type), is_several,
            is_nullable=is_nullable, is_inferred=field.name in inferred,
        )
        for field in schema
        for path, type, is_several, is_nullable in _leaves((field.name,), field.type, field.nullable)
    ]  # fmt: skip


def _leaves(
    path: Path, type: pa.DataType, is_nullable: bool, is_several: bool = False
) -> Iterator[tuple[Path, pa.DataType, bool, bool]]:
    """Yield path and type of the values in a column, whether they are in an array, and whether they may be absent."""
    type = storage_type(type)
    if path == TAGS:
        yield path, type, False, is_nullable
    elif pa.types.is_struct(type):
        for child in type.fields:
            yield from _leaves((*path, child.name), child.type, is_nullable or child.nullable, is_several)
    elif pa.types.is_map(type) and is_text(storage_type(type.key_type)):
        yield from _leaves((*path, None), type.item_type, True, is_several)
    elif is_list(type):
        yield from _leaves(path, type.value_type, True, True)
    else:
        yield path, type, is_several, is_nullable


def _kind(path: Path, type: pa.DataType) -> str | None:
    if path == TAGS:
        return "tags" if is_list(type) else None
    return next((kind for is_type, kind in _KINDS if is_type(type)), None)
