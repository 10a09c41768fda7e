"""Files by names and patterns, and the content of compressed ones: gzip, bzip2 and zstd, by the suffix of the name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from glob import glob
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

import pyarrow as pa

from cbnet.files import unreadable

Read: TypeAlias = Callable[[int], bytes]

_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


def content_path(path: Path) -> Path:
    """Return the path without the suffix of a compression."""
    return path.with_suffix("") if path.suffix in _CODECS else path


def content_of(file: BinaryIO, path: Path) -> BinaryIO:
    """Return a stream of the content of an open file; errors in compressed bytes are OSErrors."""
    codec = _CODECS.get(path.suffix)
    return cast("BinaryIO", pa.CompressedInputStream(file, codec)) if codec else file


def expand_patterns(names: Sequence[str]) -> list[str]:
    """Return files, each once, with those that match a pattern in its place; a name that matches nothing stays."""
    found = [
        [name]
        if name == "-" or Path(name).exists()
        else sorted(file for file in glob(name, recursive=True) if not Path(file).is_dir())  # noqa: PTH207
        for name in names
    ]
    return [*dict.fromkeys(file for name, files in zip(names, found, strict=True) for file in files or [name])]


def open_file(path: Path) -> BinaryIO:
    """Open a file; an error is an InputError."""
    try:
        return path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from None


def checked_read(read: Read, source: str) -> Read:
    """Return `read` with errors that name the source."""

    def checked(count: int) -> bytes:
        try:
            return read(count)
        except OSError as error:
            raise unreadable(source, error) from None

    return checked
