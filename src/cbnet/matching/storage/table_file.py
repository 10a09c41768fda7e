"""The table file: named arrays in one file that is mapped into memory.

    ┌──────────┬─────────┬────────────┬──────────┬──────────────┬───┬─────────┬───┬─────────┐
    │ magic    │ version │ header     │ header   │ header, JSON │ 0 │ section │ 0 │ section │ …
    │ 8 bytes  │ u32     │ bytes, u32 │ crc, u32 │              │   │         │   │         │
    └──────────┴─────────┴────────────┴──────────┴──────────────┴───┴─────────┴───┴─────────┘

Sections begin at multiples of 64; numbers are little-endian. The header lists each section with its
type, offset and length, the length of the file, and a checksum of all bytes after the header. Opening
checks the header and that all sections lie inside the file, in constant time; all processes of a host
share one copy. `verify` also reads every byte.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cbnet.errors import TableFileError
from cbnet.files import unreadable, unwritable
from cbnet.matching.storage.columns import Array

MAGIC = b"CBNETTBL"
VERSION = 3
_START = struct.Struct("<8sIII")
_ALIGNMENT = 64
_MAX_HEADER = 1 << 24
_REMEDY = "compile the table again with `cbnet compile`"


def write_table_file(path: Path, arrays: dict[str, Array], metadata: dict[str, Any]) -> int:
    """Write arrays and metadata; return the size of the file.

    The file is written under a temporary name and then renamed, so a reader never sees a part of it.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            header, offsets = _layout(arrays, metadata)
            file.seek(len(header))
            checksum = 0
            at = len(header)
            for name, array in arrays.items():
                data = (
                    b"\0" * (offsets[name] - at),
                    np.ascontiguousarray(array).data.cast("B") if array.size else b"",
                )
                for part in data:
                    file.write(part)
                    checksum = zlib.crc32(part, checksum)
                at = offsets[name] + array.nbytes
            header, _ = _layout(arrays, {**metadata, "checksum": checksum})
            file.seek(0)
            file.write(header)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise unwritable(path, error, TableFileError) from None
    return at


def _layout(arrays: dict[str, Array], metadata: dict[str, Any]) -> tuple[bytes, dict[str, int]]:
    """Return the bytes before the first section, and the offset of each section."""
    metadata = {"checksum": 0, **metadata}
    metadata["checksum"] = f"{metadata['checksum']:08x}"  # of constant length
    room = 2 * _ALIGNMENT * (len(arrays) + 4) + 2 * len(json.dumps(metadata))
    start = _aligned(_START.size + room)
    sections, offsets, at = {}, {}, start
    for name, array in arrays.items():
        at = _aligned(at)
        offsets[name] = at
        sections[name] = [array.dtype.descr if array.dtype.names else array.dtype.str, at, len(array)]
        at += array.nbytes
    text = json.dumps({**metadata, "sections": sections, "bytes": at, "start": start}).encode().ljust(room)
    return (_START.pack(MAGIC, VERSION, room, zlib.crc32(text)) + text).ljust(start, b"\0"), offsets


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


@dataclass(frozen=True)
class TableFile:
    """A mapped file: its arrays, which are read-only, and its header."""

    path: Path
    arrays: dict[str, Array]
    metadata: dict[str, Any]
    mapped: Any

    def verify(self) -> None:
        """Read every byte; raise TableFileError if the checksum is wrong."""
        if zlib.crc32(memoryview(self.mapped)[self.metadata["start"] :]) != int(self.metadata["checksum"], 16):
            raise TableFileError("the file is damaged: its checksum is wrong", hint=_REMEDY, file=str(self.path))


def open_table_file(path: Path) -> TableFile:
    """Map a file, and check its header and the bounds of its sections."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    except OSError as error:
        raise unreadable(path, error, TableFileError) from None
    try:
        header = _header(mapped)
        arrays = {name: _section(mapped, name, *section) for name, section in header["sections"].items()}
    except TableFileError as error:
        raise error.at(file=str(path)) from None
    return TableFile(path, arrays, header, mapped)


def _header(mapped: Any) -> dict[str, Any]:
    if len(mapped) < _START.size or mapped[: len(MAGIC)] != MAGIC:
        raise TableFileError("not a compiled table", hint="create one with `cbnet compile`")
    _, version, length, checksum = _START.unpack_from(mapped)
    if version != VERSION:
        raise TableFileError(f"the table has version {version}, but this cbnet reads version {VERSION}", hint=_REMEDY)
    text = mapped[_START.size : _START.size + min(length, _MAX_HEADER)]
    if len(text) != length or zlib.crc32(text) != checksum:
        raise TableFileError("the file is damaged: its header is incomplete", hint=_REMEDY)
    header: dict[str, Any] = json.loads(text)
    if header["bytes"] != len(mapped):
        raise TableFileError(f"the file has {len(mapped):,} bytes instead of {header['bytes']:,}", hint=_REMEDY)
    if any(mapped[_START.size + length : header["start"]]):
        raise TableFileError("the file is damaged: its header is incomplete", hint=_REMEDY)
    return header


def _section(mapped: Any, name: str, kind: Any, offset: int, count: int) -> Array:
    dtype = np.dtype([tuple(field) for field in kind] if isinstance(kind, list) else kind)
    if offset < 0 or count < 0 or offset + count * dtype.itemsize > len(mapped):
        raise TableFileError(f"the file is damaged: section {name} lies outside it", hint=_REMEDY)
    return np.frombuffer(mapped, dtype, count, offset)
