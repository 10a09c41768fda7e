"""Values of a journal in PostgreSQL, all in binary form.

    integer   int8: a statement is prepared once, not for each size of integer
    text      bytea: a name may have the character U+0000, which `text` does not allow
    column    an array of the values of many rows: a statement for each row takes router and server four times as long

An array:

    dimensions   nulls   type   length   lower bound   then for each element: its size, and its bytes
    1            0       int4   int4     1
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any, Final, NamedTuple

import numpy as np
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.pq import Format
from psycopg.types.numeric import Int8BinaryDumper

_HEAD: Final = Struct(">5i")


class _Kind(NamedTuple):
    """A type of a column."""

    name: str
    oid: int
    form: str = ""  # of numbers


_BYTES: Final = _Kind("bytea", 17)
_KINDS: Final = {
    "INTEGER": _Kind("bigint", 20, ">i8"),
    "REAL": _Kind("double precision", 701, ">f8"),
    "BLOB": _BYTES,
    "TEXT": _BYTES,
}


def type_name(kind: str) -> str:
    """Return the type of a column, by that in `journal_tables`."""
    return _KINDS[kind].name


class ColumnArray:
    """The values of a column of some rows. A statement must cast it to an array of the type."""

    def __init__(self, kind: str, values: Sequence[Any]) -> None:
        own = _KINDS[kind]
        head = _HEAD.pack(1, 0, own.oid, len(values), 1)
        if own.form:
            numbers = np.empty(len(values), dtype=[("size", ">i4"), ("value", own.form)])
            numbers["size"], numbers["value"] = 8, values
            self.data = head + numbers.tobytes()
        else:
            encoded = (each.encode() if isinstance(each, str) else each for each in values)
            self.data = head + b"".join([part for each in encoded for part in (len(each).to_bytes(4), each)])


class _ArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: ColumnArray) -> bytes:
        return obj.data


class _TextDumper(Dumper):
    format = Format.BINARY
    oid = _BYTES.oid

    def dump(self, obj: str) -> bytes:
        return obj.encode()


def register(adapters: AdaptersMap) -> None:
    """Let a connection send values in these forms."""
    adapters.register_dumper(int, Int8BinaryDumper)
    adapters.register_dumper(str, _TextDumper)
    adapters.register_dumper(ColumnArray, _ArrayDumper)
