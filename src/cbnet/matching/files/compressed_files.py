"""Compressed files, read as their content: gzip, bzip2 and zstd, by the suffix of the name."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


def content_path(path: Path) -> Path:
    """Return the path without the suffix of a compression."""
    return path.with_suffix("") if path.suffix in _CODECS else path


def content_of(file: BinaryIO, path: Path) -> BinaryIO:
    """Return a stream of the content of an open file; errors in compressed bytes are OSErrors."""
    codec = _CODECS.get(path.suffix)
    return cast("BinaryIO", pa.CompressedInputStream(file, codec)) if codec else file
