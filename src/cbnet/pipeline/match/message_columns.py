"""The columns of a DataFrame as attributes of messages, and the parts of columns that filters use.

    id long, from struct<city:string>, items array<struct<sku:string,n:int>>, labels map<string,string>

    id, from.city        one value per row
    items.sku, items.n   a value per element of `items`
    labels.*             an attribute per key
    #                    the tags: array<string>

The workers get the used parts as they are; `matching.storage.arrow_messages` defines their meaning. A used column of a
type that has no values is refused before the job runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from cbnet.errors import InputError
from cbnet.language.message import MAX_DEPTH
from cbnet.matching.storage.attribute_columns import TAGS, AttributeColumn, Path, name_pattern

Uses = Callable[[Path], bool]
_TEXTS = (StringType, VarcharType, CharType)
_KINDS: list[tuple[tuple[type[DataType], ...], str]] = [
    (_TEXTS, "string"),
    ((BooleanType,), "bool"),
    ((IntegralType,), "int"),
    ((FloatType, DoubleType), "float"),
    ((DecimalType,), "number"),
    ((DateType, TimestampType, TimestampNTZType), "time"),
    ((NullType,), "absent"),
]
_HINT = "cast it to string, a number, boolean or timestamp, or select the columns to match"


@dataclass(frozen=True)
class UsedNames:
    """The attributes that filters use, and whether they use tags."""

    names: frozenset[str]  # of plain attributes, also of those that computed ones depend on
    has_tags: bool
    arrays: frozenset[str] = frozenset()  # columns whose items count, also those without a used member

    def __call__(self, path: Path) -> bool:
        """Return whether filters use what a column holds at a path."""
        if path == TAGS:
            return self.has_tags
        if None not in path:
            return ".".join(map(str, path)) in self.names
        return any(map(name_pattern(path).fullmatch, self.names))

    def is_array(self, path: Path) -> bool:
        """Return whether a column holds arrays whose items count."""
        return str(path[0]).partition(".")[0] in self.arrays


def attributes_of(
    schema: StructType, columns: Sequence[str] | None, uses: Uses, *, of_lines: bool = False
) -> list[AttributeColumn]:
    """Return the attributes of a schema, or of some of its columns or paths; refuse used ones that are not values.

    of_lines: the schema is Spark's of JSON Lines. A line may hold other values and members than it has, or be rejected
    for them, so nothing is refused but a name that no column has.
    """
    if of_lines:
        chosen = _chosen(schema, columns, of_lines=True)
        found = [each for path, type, _ in chosen for each in _attributes(path, type, lambda _: False, 1)]
        return [replace(each, is_used=uses(each.path)) for each in found]
    found = [
        each
        for path, type, is_nullable in _chosen(schema, columns)
        for each in _attributes(path, type, uses, 1, is_nullable=is_nullable)
    ]
    if refused := [each for each in found if each.is_used and each.kind is None]:
        problem = "; ".join(f"column {each.name!r}: {each.type} is not a valid type for attributes" for each in refused)
        is_tags = any(each.path == TAGS for each in refused)
        raise InputError(
            problem, hint='the column "#" holds the tags: make it an array of strings' if is_tags else _HINT
        )
    if not isinstance(uses, UsedNames) or not uses.arrays:
        return found
    return [
        replace(each, is_used=each.is_used or (each.kind is not None and uses.is_array(each.path))) for each in found
    ]


def open_columns(columns: Sequence[AttributeColumn]) -> list[AttributeColumn]:
    """Return the columns of lines, with the members that objects in place of a value may have.

    Spark's type for objects in some lines, and other values in others, is string.
    """
    return [*columns, *(replace(each, path=(*each.path, None)) for each in columns if each.kind == "string")]


def used_columns(schema: StructType, columns: Sequence[str] | None, uses: Uses) -> dict[str, Column]:
    """Return the columns that filters use, without the members that they do not use, by name."""
    used = {attribute.path for attribute in attributes_of(schema, columns, uses) if attribute.is_used}
    parts = ((path, type, _part(path, type, used)) for path, type, _ in _chosen(schema, columns))
    return {".".join(path): _select(column(*path), type, part) for path, type, part in parts if part is not None}


def column(*path: str) -> Column:
    """Return the column of a path."""
    return F.col(".".join(f"`{part.replace('`', '``')}`" for part in path))


def _chosen(
    schema: StructType, columns: Sequence[str] | None, *, of_lines: bool = False
) -> Iterable[tuple[tuple[str, ...], DataType, bool]]:
    """Return path and type of the columns, and whether they may be null."""
    if columns is None:
        return (((field.name,), field.dataType, field.nullable) for field in schema)
    return {found[0]: found for found in (field_of(schema, name, of_lines=of_lines) for name in columns)}.values()


def field_of(schema: StructType, name: str, *, of_lines: bool = False) -> tuple[tuple[str, ...], DataType, bool]:
    """Return the column of a name, or the field of a dotted path, which need not be in a schema of lines."""
    path: tuple[str, ...] = ()
    type: DataType = schema
    is_nullable = False
    rest = name
    while rest:
        known = type.names if isinstance(type, StructType) else []
        longest = max((part for part in known if rest == part or rest.startswith(f"{part}.")), key=len, default=None)
        if longest is None and of_lines and path:
            return (*path, *rest.split(".")), StringType(), True
        if longest is None:
            close = get_close_matches(rest, known, 1)
            raise InputError(
                f"no column {name!r}",
                hint=f"did you mean {'.'.join([*path, *close])!r}?" if close else f"columns: {', '.join(schema.names)}",
            )
        assert isinstance(type, StructType)
        is_nullable = is_nullable or type[longest].nullable
        path, type, rest = (*path, longest), type[longest].dataType, rest[len(longest) + 1 :]
    return path, type, is_nullable


def _attributes(
    path: Path, type: DataType, uses: Uses, depth: int, *, is_several: bool = False, is_nullable: bool = True
) -> Iterator[AttributeColumn]:
    if path == TAGS:
        kind = "tags" if isinstance(type, ArrayType) and isinstance(type.elementType, _TEXTS) else None
        yield AttributeColumn(path, type.simpleString(), kind, False, uses(path))
    elif isinstance(type, StructType):
        for field in type:
            may_be_null = is_nullable or field.nullable
            inside = (*path, field.name)
            yield from _attributes(
                inside, field.dataType, uses, depth + 1, is_several=is_several, is_nullable=may_be_null
            )
    elif isinstance(type, ArrayType):
        yield from _attributes(path, type.elementType, uses, depth + 1, is_several=True)
    elif isinstance(type, MapType) and isinstance(type.keyType, _TEXTS):
        yield from _attributes((*path, None), type.valueType, uses, depth + 1, is_several=is_several)
    else:
        kind = next((kind for types, kind in _KINDS if isinstance(type, types)), None)
        found = AttributeColumn(path, type.simpleString(), kind, is_several, uses(path), is_nullable)
        if found.is_used and depth > MAX_DEPTH:
            problem = f"column {found.name[:40]!r}: nested deeper than {MAX_DEPTH} levels"
            raise InputError(problem, hint="flatten the column")
        yield found


def _part(path: Path, type: DataType, used: set[Path]) -> DataType | None:
    """Return the type of the used part of a column, or None."""
    if isinstance(type, StructType):
        parts = [(field, _part((*path, field.name), field.dataType, used)) for field in type]
        fields = [StructField(field.name, part, field.nullable, field.metadata) for field, part in parts if part]
        return StructType(fields) if fields else None
    if isinstance(type, ArrayType):
        part = _part(path, type.elementType, used)
        return ArrayType(part, type.containsNull) if part else None
    if isinstance(type, MapType):
        part = _part((*path, None), type.valueType, used)
        return MapType(type.keyType, part, type.valueContainsNull) if part else None
    return type if path in used else None


def _select(column: Column, type: DataType, part: DataType) -> Column:
    """Return the used part of a column. A null struct stays null: in an array, an object counts."""
    if isinstance(type, StructType) and isinstance(part, StructType) and type != part:
        fields = [_select(column.getField(to.name), type[to.name].dataType, to.dataType).alias(to.name) for to in part]
        return F.when(column.isNotNull(), F.struct(*fields))
    if isinstance(type, ArrayType) and isinstance(part, ArrayType) and type != part:
        return F.transform(column, lambda item: _select(item, type.elementType, part.elementType))
    if isinstance(type, MapType) and isinstance(part, MapType) and type != part:
        return F.transform_values(column, lambda _, value: _select(value, type.valueType, part.valueType))
    return column
