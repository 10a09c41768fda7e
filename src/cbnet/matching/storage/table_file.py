"""Table file: named arrays in one file that is mapped into memory, not read.

    ┌──────────┬─────────┬────────────┬──────────┬──────────────┬───┬─────────┬───┬─────────┐
    │ magic    │ version │ header     │ header   │ header, JSON │ 0 │ section │ 0 │ section │ …
    │ 8 bytes  │ u32     │ bytes, u32 │ crc, u32 │              │   │         │   │         │
    └──────────┴─────────┴────────────┴──────────┴──────────────┴───┴─────────┴───┴─────────┘

Sections begin at multiples of 64; numbers are little-endian. The header names each section with its
type, place and length, and holds the length of the file and a checksum of all behind the header.
Opening checks the header and that all sections lie inside the file, whatever its size, so every
process on a host shares one copy in the time of reading a page. `verify` also reads every byte.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet.errors import TableFileError
from cbnet.files import unreadable, unwritable

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Array

MAGIC = b"CBNETTBL"
VERSION = 1
_START = struct.Struct("<8sIII")
_ALIGNMENT = 64
_MAX_HEADER = 1 << 24
_REMEDY = "compile the table again with `cbnet compile`"


def write_table_file(path: Path, arrays: dict[str, Array], about: dict[str, Any]) -> int:
    """Write arrays, and what the header says about them; return the size of the file.

    The file appears whole or not at all: it is written under another name and then renamed.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            header, places = _layout(arrays, about)
            file.seek(len(header))
            checksum = 0
            at = len(header)
            for name, array in arrays.items():
                data = (
                    b"\0" * (places[name] - at),
                    np.ascontiguousarray(array).data.cast("B") if array.size else b"",
                )
                for part in data:
                    file.write(part)
                    checksum = zlib.crc32(part, checksum)
                at = places[name] + array.nbytes
            header, _ = _layout(arrays, {**about, "checksum": checksum})
            file.seek(0)
            file.write(header)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise unwritable(path, error, TableFileError) from None
    return at


def _layout(arrays: dict[str, Array], about: dict[str, Any]) -> tuple[bytes, dict[str, int]]:
    """Return the bytes before the first section, and where each section begins."""
    about = {"checksum": 0, **about}
    about["checksum"] = f"{about['checksum']:08x}"  # of one length, whatever it is
    room = 2 * _ALIGNMENT * (len(arrays) + 4) + 2 * len(json.dumps(about))
    start = _aligned(_START.size + room)
    sections, places, at = {}, {}, start
    for name, array in arrays.items():
        at = _aligned(at)
        places[name] = at
        sections[name] = [array.dtype.descr if array.dtype.names else array.dtype.str, at, len(array)]
        at += array.nbytes
    text = json.dumps({**about, "sections": sections, "bytes": at, "start": start}).encode().ljust(room)
    return (_START.pack(MAGIC, VERSION, room, zlib.crc32(text)) + text).ljust(start, b"\0"), places


def _aligned(place: int) -> int:
    return -(-place // _ALIGNMENT) * _ALIGNMENT


@dataclass(frozen=True)
class TableFile:
    """A mapped file: its arrays, which cannot be written to, and what its header says."""

    path: Path
    arrays: dict[str, Array]
    about: dict[str, Any]
    mapped: Any

    def verify(self) -> None:
        """Read every byte; raise if one is not as it was written."""
        if zlib.crc32(memoryview(self.mapped)[self.about["start"] :]) != int(self.about["checksum"], 16):
            raise TableFileError("the file is damaged: its checksum is wrong", hint=_REMEDY, file=str(self.path))


def open_table_file(path: Path) -> TableFile:
    """Map a file and check its header and where its sections lie."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    except OSError as error:
        raise unreadable(path, error, TableFileError) from None
    try:
        header = _header(mapped)
        arrays = {name: _section(mapped, name, *place) for name, place in header["sections"].items()}
    except TableFileError as error:
        raise error.at(file=str(path)) from None
    return TableFile(path, arrays, header, mapped)


def _header(mapped: Any) -> dict[str, Any]:
    if len(mapped) < _START.size or mapped[: len(MAGIC)] != MAGIC:
        raise TableFileError("this is not a compiled table", hint="make one with `cbnet compile`")
    _, version, length, checksum = _START.unpack_from(mapped)
    if version != VERSION:
        raise TableFileError(f"the table has version {version}, and this cbnet reads {VERSION}", hint=_REMEDY)
    text = mapped[_START.size : _START.size + min(length, _MAX_HEADER)]
    if len(text) != length or zlib.crc32(text) != checksum:
        raise TableFileError("the file is damaged: its header is not whole", hint=_REMEDY)
    header: dict[str, Any] = json.loads(text)
    if header["bytes"] != len(mapped):
        raise TableFileError(f"the file has {len(mapped):,} bytes instead of {header['bytes']:,}", hint=_REMEDY)
    if any(mapped[_START.size + length : header["start"]]):
        raise TableFileError("the file is damaged: its header is not whole", hint=_REMEDY)
    return header


def _section(mapped: Any, name: str, kind: Any, place: int, count: int) -> Array:
    dtype = np.dtype([tuple(field) for field in kind] if isinstance(kind, list) else kind)
    if place < 0 or count < 0 or place + count * dtype.itemsize > len(mapped):
        raise TableFileError(f"the file is damaged: section {name} lies outside it", hint=_REMEDY)
    return np.frombuffer(mapped, dtype, count, place)
