"""Fingerprints of the inputs and the code that the results of an experiment depend on, and the commit of the code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cbnet
import cbnet_lab
from cbnet.errors import InputError

_PACKAGES = (Path(cbnet.__file__).parent, Path(cbnet_lab.__file__).parent)
_JUDGED = "claims.toml"  # findings are computed each time, so a changed threshold needs no new run
_SHORT = 10  # digits of a commit


def fingerprint(facts: Mapping[str, Any]) -> str:
    """Return a fingerprint of facts that can be encoded as JSON."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def input_fingerprint(path: Path) -> str:
    """Return a fingerprint of a file, or of all files in a folder: names, sizes and modification times."""
    if not path.exists():
        raise InputError("no such file or folder", file=str(path))
    stats = [(str(file.relative_to(path.parent)), file.stat()) for file in _files(path)]
    return fingerprint({name: [stat.st_size, stat.st_mtime_ns] for name, stat in stats})


def code_fingerprint(*packages: Path) -> str:
    """Return a fingerprint of the bytes of packages, by default of both: sources, data files and compiled kernels."""
    digest = hashlib.sha256()
    for package in packages or _PACKAGES:
        for file in _files(package):
            if "__pycache__" not in file.parts and file.name != _JUDGED:
                digest.update(f"{file.relative_to(package)}\0{file.stat().st_size}\0".encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()


def commit(package: Path = _PACKAGES[0]) -> str:
    """Return the commit of the checkout that a package is in, shortened; empty if it is in none."""
    try:
        checkout = next(folder for folder in package.parents if (folder / ".git").exists())
        head = checkout / ".git"
        if head.is_file():  # in a linked working tree
            head = Path(head.read_text(encoding="utf-8").removeprefix("gitdir:").strip())
        shared = head / "commondir"
        whole = (head / shared.read_text(encoding="utf-8").strip()) if shared.is_file() else head
        text = (head / "HEAD").read_text(encoding="utf-8").strip()
        return (_reference(whole, text.removeprefix("ref: ")) if text.startswith("ref: ") else text)[:_SHORT]
    except (OSError, StopIteration, UnicodeDecodeError):
        return ""


def _reference(git: Path, name: str) -> str:
    """Return the commit that a branch points to; empty if it is unknown."""
    if (git / name).is_file():
        return (git / name).read_text(encoding="utf-8").strip()
    packed = (git / "packed-refs").read_text(encoding="utf-8").splitlines()
    return next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
