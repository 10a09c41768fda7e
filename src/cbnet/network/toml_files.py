"""TOML files: how are the files of a network read, and their values written?"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from cbnet.errors import InputError


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", file=str(path)) from None
    except UnicodeDecodeError:
        raise InputError("not UTF-8", file=str(path)) from None
    except tomllib.TOMLDecodeError as error:
        said, _, place = str(error).partition(" (at line ")
        line, column = (
            (int(number) for number in re.findall(r"\d+", place)[:2]) if place[:1].isdigit() else (None, None)
        )
        raise InputError(f"not TOML: {said}", file=str(path), line=line, column=column) from None
    except (RecursionError, ValueError):  # lists too deep, or a number too long, for Python
        raise InputError("not TOML that can be read: too deep, or a number too long", file=str(path)) from None


def check_keys(table: Iterable[str], known: Iterable[str], where: str) -> None:
    """Refuse a key that means nothing."""
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"write {near[0]}" if near else "use " + ", ".join(known)
            raise InputError(f"unknown key {key!r}{where}", hint=hint)


def toml(value: Any) -> str:
    """Return a string, number, bool or flat table of them as TOML; strings are those of JSON, but for one character."""
    if isinstance(value, dict):
        return (
            "{ " + ", ".join(f"{toml_key(key)} = {toml(each)}" for key, each in value.items()) + " }" if value else "{}"
        )
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(key: str) -> str:
    """Return a key as TOML."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml(key)
