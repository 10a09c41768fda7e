"""Fingerprints of the inputs and the code that the results of an experiment depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cbnet
from cbnet.errors import InputError

_PACKAGE = Path(cbnet.__file__).parent


def fingerprint(facts: Mapping[str, Any]) -> str:
    """Return a fingerprint of facts that JSON can hold."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def input_fingerprint(path: Path) -> str:
    """Return a fingerprint of a file, or of all files in a folder: names, sizes and modification times."""
    if not path.exists():
        raise InputError("no such file or folder", file=str(path))
    stats = [(str(file.relative_to(path.parent)), file.stat()) for file in _files(path)]
    return fingerprint({name: [stat.st_size, stat.st_mtime_ns] for name, stat in stats})


def code_fingerprint(package: Path = _PACKAGE) -> str:
    """Return a fingerprint of the bytes of a package: its sources, data files and compiled kernels."""
    digest = hashlib.sha256()
    for file in _files(package):
        if "__pycache__" not in file.parts:
            digest.update(f"{file.relative_to(package)}\0{file.stat().st_size}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
