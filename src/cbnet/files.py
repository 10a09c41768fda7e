"""Reading of files, and the errors of those that cannot be read or written."""

from __future__ import annotations

import os
from pathlib import Path

from cbnet.errors import InputError


def read_bytes(path: Path) -> bytes:
    """Return the content of a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, without a byte order mark."""
    return decode_text(read_bytes(path), path)


def decode_text(data: bytes, path: Path) -> str:
    """Return the text of a file's UTF-8 bytes; an InputError names the first line that is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("not UTF-8", hint="save the file as UTF-8", file=str(path), line=line) from None


def unreadable(path: Path | str, error: Exception, kind: type[InputError] = InputError) -> InputError:
    """Return the error of a file that cannot be read."""
    return kind(f"cannot read: {_reason(error)}", file=str(path))


def unwritable(path: Path | str, error: Exception, kind: type[InputError] = InputError) -> InputError:
    """Return the error of a file that cannot be written."""
    return kind(f"cannot write: {_reason(error)}", file=str(path))


def _reason(error: Exception) -> str:
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else str(error)
