"""Files of this machine, by URIs with the scheme `file`: the same operations as of `HadoopFiles`, without a session."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from glob import glob
from pathlib import Path

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


def scheme_of(path: str) -> str | None:
    """Return the scheme of a URI such as s3a://bucket/key; None for a plain path."""
    found = _SCHEME.match(path)
    return found[1].lower() if found else None


def local_path(path: str) -> Path | None:
    """Return the path of a URI with the scheme `file`; None for others."""
    return _path(path) if scheme_of(path) == "file" else None


class LocalFiles:
    """The file system of this machine."""

    def exists(self, path: str) -> bool:
        """Return whether a file or folder exists."""
        return _path(path).exists()

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; an empty list if there is no such folder."""
        local = _path(folder)
        return [each.name for each in local.iterdir()] if local.is_dir() else []

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes of all files below a folder, by name; empty if there is no such folder."""
        top = _path(folder)
        return {str(each)[len(str(top)) + 1 :]: each.stat().st_size for each in _below(top)}

    def matches(self, pattern: str) -> Iterator[tuple[str, int, int]]:
        """Yield name, size and modification time of each file of a pattern, and of each below a folder of it."""
        local = str(_path(pattern))
        found = [local] if Path(local).exists() else sorted(glob(local))  # noqa: PTH207, patterns may be absolute
        for top in map(Path, found):
            for file in _below(top):
                status = file.stat()
                yield str(file.relative_to(top.parent)), status.st_size, int(status.st_mtime * 1000)

    def read(self, path: str) -> bytes | None:
        """Return the content of a file; None if there is no such file."""
        local = _path(path)
        return local.read_bytes() if local.is_file() else None

    def write(self, path: str, data: bytes) -> None:
        """Write a file; replace an existing one."""
        local = _path(path)
        draft = _draft(local)
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(local)
        local.with_name(f".{local.name}.crc").unlink(missing_ok=True)  # Hadoop's checksum of the file before

    def create(self, path: str, data: bytes) -> bool:
        """Write a new file; return False if there is one already."""
        local = _path(path)
        local.parent.mkdir(parents=True, exist_ok=True)
        try:
            with local.open("xb") as file:
                file.write(data)
        except FileExistsError:
            return False
        return True

    def delete(self, path: str) -> None:
        """Delete a file or a folder with its contents, if it exists."""
        local = _path(path)
        if local.is_dir():
            shutil.rmtree(local)
        else:
            local.unlink(missing_ok=True)

    def upload(self, local: Path, path: str) -> None:
        """Copy a local file to a path."""
        target = _path(path)
        draft = _draft(target)
        shutil.copyfile(local, draft)
        draft.replace(target)

    def download(self, path: str, local: Path) -> None:
        """Copy a file from a path to a local file."""
        shutil.copyfile(_path(path), local)


def _path(uri: str) -> Path:
    return Path(re.sub("^file:/+", "/", uri, flags=re.IGNORECASE))


def _below(top: Path) -> list[Path]:
    """Return a file, or all files below a folder."""
    return [top] if top.is_file() else sorted(each for each in top.rglob("*") if each.is_file())


def _draft(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f".{path.name}.draft")
