"""The mapping of the columns of a DataFrame to attributes.

    id long, price decimal(8,2), at timestamp, tags array<string>, from struct<city:string>
     │            │                 │                │                       │
    id int      price float       at text          tags of the message     from.city string

A column is the attribute of its name, a field of a struct that of its path; null is absent. Columns of other types are
refused before the job runs; docs/how-to/match-on-spark.md has the whole mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
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
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from cbnet.errors import InputError
from cbnet.language.values import RESERVED_NAME

TAGS = RESERVED_NAME
_MAX_INT_DIGITS = 18  # that always fit into 64 bits
_REMEDIES: dict[type[DataType], str] = {
    BinaryType: "cast it to string, or encode it with base64 or hex",
    MapType: "select the members that filters use, such as m['k'] as k",
    ArrayType: "only arrays of strings are tags: cast it, or explode it",
    DecimalType: "cast it to bigint or double",
}


@dataclass(frozen=True)
class Attribute:
    """A column, or a field of one, as an attribute of a message."""

    name: str  # "#" for tags
    path: tuple[str, ...]
    type: str  # Spark's name
    kind: str  # string, int, float, bool, date, time, tags or absent
    cast: str | None = None  # a cast by Spark before

    def column(self) -> Column:
        """Return the column to be sent to the workers."""
        column = F.col(".".join(f"`{part.replace('`', '``')}`" for part in self.path))
        return column if self.cast is None else column.cast(self.cast)


def attributes_of(schema: StructType, columns: Sequence[str] | None = None) -> list[Attribute]:
    """Return the attributes of a schema, or of some of its columns or paths; raise an error for other types."""
    chosen = _fields(schema) if columns is None else (_field(schema, name) for name in columns)
    leaves = [leaf for path, type in chosen for leaf in _leaves(path, type)]
    attributes = [leaf for leaf in leaves if isinstance(leaf, Attribute)]
    if refused := [leaf for leaf in leaves if not isinstance(leaf, Attribute)]:
        problem = "; ".join(f"column {name!r}: {type} is not a valid type for attributes" for name, type, _ in refused)
        hint = "; ".join(dict.fromkeys(remedy for _, _, remedy in refused))
        raise InputError(problem, hint=f"{hint}; or select the columns to match")
    _check_distinct(attributes)
    return attributes


def _fields(schema: StructType) -> Iterator[tuple[tuple[str, ...], DataType]]:
    return (((field.name,), field.dataType) for field in schema)


def _field(schema: StructType, name: str) -> tuple[tuple[str, ...], DataType]:
    """Return the column of a name, or the field of a dotted path."""
    path: tuple[str, ...] = ()
    type: DataType = schema
    rest = name
    while rest:
        known = type.names if isinstance(type, StructType) else []
        longest = max((part for part in known if rest == part or rest.startswith(f"{part}.")), key=len, default=None)
        if longest is None:
            close = get_close_matches(rest, known, 1)
            raise InputError(
                f"no column {name!r}",
                hint=f"did you mean {'.'.join([*path, *close])!r}?" if close else f"columns: {', '.join(schema.names)}",
            )
        assert isinstance(type, StructType)
        path, type, rest = (*path, longest), type[longest].dataType, rest[len(longest) + 1 :]
    return path, type


def _leaves(path: tuple[str, ...], type: DataType) -> Iterator[Attribute | tuple[str, str, str]]:
    if isinstance(type, StructType):
        for field in type:
            yield from _leaves((*path, field.name), field.dataType)
        return
    name, type_name = ".".join(path), type.simpleString()
    if isinstance(type, ArrayType) and isinstance(type.elementType, StringType):
        yield Attribute(TAGS, path, type_name, "tags")
    elif name == TAGS:
        yield name, type_name, 'the column "#" holds the tags: make it an array of strings'
    elif (kind := _value(type)) is not None:
        yield Attribute(name, path, type_name, *kind)
    else:
        yield name, type_name, next((remedy for of, remedy in _REMEDIES.items() if isinstance(type, of)), "cast it")


_KINDS: list[tuple[Callable[[DataType], bool], tuple[str, str | None]]] = [
    (lambda type: isinstance(type, StringType | VarcharType | CharType), ("string", None)),
    (lambda type: isinstance(type, BooleanType), ("bool", None)),
    (lambda type: isinstance(type, IntegralType), ("int", None)),
    (lambda type: isinstance(type, FloatType | DoubleType), ("float", None)),
    (lambda type: isinstance(type, DateType), ("date", None)),
    (lambda type: isinstance(type, TimestampType | TimestampNTZType), ("time", None)),
    (lambda type: isinstance(type, NullType), ("absent", None)),
    # Spark rounds a decimal to the nearest float, as the parser of the language does; Arrow may not.
    (lambda type: isinstance(type, DecimalType) and type.scale > 0, ("float", "double")),
    (lambda type: isinstance(type, DecimalType) and type.precision <= _MAX_INT_DIGITS, ("int", "bigint")),
]


def _value(type: DataType) -> tuple[str, str | None] | None:
    return next((kind for is_kind, kind in _KINDS if is_kind(type)), None)


def _check_distinct(attributes: Sequence[Attribute]) -> None:
    seen = set()
    for attribute in attributes:
        if attribute.name in seen and attribute.name != TAGS:
            hint = "rename one of them, or select the columns to match"
            raise InputError(f"two columns have the attribute {attribute.name!r}", hint=hint)
        seen.add(attribute.name)
