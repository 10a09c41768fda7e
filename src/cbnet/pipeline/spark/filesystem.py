"""Files on any file system that Spark can use: a disk, HDFS, an object store.

Plain paths and URIs with the scheme `file` are read and written by Python and need no session; all others by Hadoop's
file systems. A written file appears complete or not at all.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.spark.hadoop_files import OBJECT_STORES, HadoopFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


def scheme_of(path: str) -> str | None:
    """Return the scheme of a URI such as s3a://bucket/key; None for a plain path."""
    found = _SCHEME.match(path)
    return found[1].lower() if found else None


def needs_session(path: str) -> bool:
    """Return whether only Spark can read a path; a plain path is local."""
    return scheme_of(path) not in (None, "file")


def has_rename(path: str) -> bool:
    """Return whether a file system can rename a folder at once; object stores copy each file."""
    return scheme_of(path) not in OBJECT_STORES


def local_path(path: str) -> Path | None:
    """Return the path on this machine; None for a path that only Spark can read."""
    return None if needs_session(path) else _path(path)


def spark_path(path: str) -> str:
    """Return a path as a URI: a plain path is local; Spark may take it for one of HDFS."""
    return f"file://{os.path.abspath(path)}" if scheme_of(path) is None else path  # noqa: PTH100, which would follow links


def check_paths(paths: Iterable[str], master: str) -> None:
    """Raise an error if the executors of a cluster cannot reach a path, as it is one of this machine."""
    for path in () if master.startswith("local") else paths:
        if scheme_of(path) is None:
            problem = f"the executors of {master} cannot reach this path of the driver's machine"
            hint = f"use a URI such as hdfs://… or s3a://…, or {spark_path(path)} if it is shared by all machines"
            raise InputError(problem, hint=hint, file=path)


@cache
def process_folder() -> Path:
    """Return a local temporary folder that exists until this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="cbnet-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _files_at(spark: SparkSession | None, path: str) -> HadoopFiles | _LocalFiles:
    """Return the file system of a path; without a session, only that of this machine."""
    return _hadoop(spark, path) if needs_session(path) else _LocalFiles()


def _hadoop(spark: SparkSession | None, path: str) -> HadoopFiles:
    if spark is None:
        raise CbnetError(f"{path}: only Spark can read this path; no session was given")
    return HadoopFiles(spark)


def read_text(spark: SparkSession | None, path: str) -> str | None:
    """Return the text of a file; None if there is no such file."""
    data = _files_at(spark, path).read(path)
    return None if data is None else data.decode(errors="replace")


def write_text(spark: SparkSession | None, path: str, text: str) -> None:
    """Write a file; replace an existing one."""
    _files_at(spark, path).write(path, text.encode())


def create_text(spark: SparkSession | None, path: str, text: str) -> bool:
    """Write a new file; return False if there is one already."""
    return _files_at(spark, path).create(path, text.encode())


def list_names(spark: SparkSession | None, folder: str) -> list[str]:
    """Return the sorted names in a folder; an empty list if there is no such folder."""
    return sorted(_files_at(spark, folder).names(folder))


def list_files(spark: SparkSession | None, folder: str) -> dict[str, int]:
    """Return the sizes of all files below a folder, by name; without hidden ones, whose names begin with . or _.

    A file is a folder of one file without a name.
    """
    sizes = _files_at(spark, folder).sizes(folder)
    return {name: sizes[name] for name in sorted(sizes) if not re.search("(^|/)[._]", name)}


def folder_files(spark: SparkSession | None, folder: str) -> dict[str, int]:
    """Return the sizes of all files below a folder, by name, hidden ones included."""
    return _files_at(spark, folder).sizes(folder)


def find_files(spark: SparkSession | None, pattern: str) -> list[tuple[str, int, int]]:
    """Return name, size and modification time in ms of each file of a pattern, and of each below a folder of it."""
    return [*_files_at(spark, pattern).matches(pattern)]


def exists(spark: SparkSession | None, path: str) -> bool:
    """Return whether a file or folder exists."""
    return _files_at(spark, path).exists(path)


def delete(spark: SparkSession | None, path: str) -> None:
    """Delete a file or a folder with its contents, if it exists."""
    _files_at(spark, path).delete(path)


def rename(spark: SparkSession | None, source: str, target: str) -> None:
    """Rename a folder; there must be none at the target, whose parents are created."""
    _files_at(spark, target).rename(source, target)


def upload(spark: SparkSession, local: Path, path: str) -> None:
    """Copy a local file to a path."""
    _files_at(spark, path).upload(local, path)


def download(spark: SparkSession | None, path: str, local: Path) -> None:
    """Copy a file from a path to a local file."""
    draft = local.with_name(f"{local.name}.draft")
    _files_at(spark, path).download(path, draft)
    draft.replace(local)


def fetch(spark: SparkSession | None, path: str) -> Path:
    """Return a local file with the content of a path: the file itself if it is local, else a copy.

    A copy keeps the name, by which readers know the format. It is made again if size or time of the file have changed.
    """
    local = local_path(path)
    if local is not None:
        return local
    files = _hadoop(spark, path)
    state = files.state(path)
    if state is None:
        raise InputError("there is no such file", file=path)
    folder = process_folder() / hashlib.sha256(f"{path} {state}".encode()).hexdigest()[:16]
    copy = folder / path.rpartition("/")[2]
    if not copy.exists():
        folder.mkdir(exist_ok=True)
        download(spark, path, copy)
    return copy


class _LocalFiles:
    """The file system of this machine, with the same operations as `HadoopFiles`."""

    def exists(self, path: str) -> bool:
        return _path(path).exists()

    def names(self, folder: str) -> list[str]:
        local = _path(folder)
        return [each.name for each in local.iterdir()] if local.is_dir() else []

    def sizes(self, folder: str) -> dict[str, int]:
        top = _path(folder)
        return {str(each)[len(str(top)) + 1 :]: each.stat().st_size for each in _below(top)}

    def matches(self, pattern: str) -> Iterator[tuple[str, int, int]]:
        local = str(_path(pattern))
        found = [local] if Path(local).exists() else sorted(glob(local))  # noqa: PTH207, patterns may be absolute
        for top in map(Path, found):
            for file in _below(top):
                status = file.stat()
                yield str(file.relative_to(top.parent)), status.st_size, int(status.st_mtime * 1000)

    def read(self, path: str) -> bytes | None:
        local = _path(path)
        return local.read_bytes() if local.is_file() else None

    def write(self, path: str, data: bytes) -> None:
        local = _path(path)
        draft = _draft(local)
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(local)
        local.with_name(f".{local.name}.crc").unlink(missing_ok=True)  # Hadoop's checksum of the file before

    def create(self, path: str, data: bytes) -> bool:
        local = _path(path)
        local.parent.mkdir(parents=True, exist_ok=True)
        try:
            with local.open("xb") as file:
                file.write(data)
        except FileExistsError:
            return False
        return True

    def delete(self, path: str) -> None:
        local = _path(path)
        if local.is_dir():
            shutil.rmtree(local)
        else:
            local.unlink(missing_ok=True)

    def rename(self, source: str, target: str) -> None:
        _path(target).parent.mkdir(parents=True, exist_ok=True)
        _path(source).rename(_path(target))

    def upload(self, local: Path, path: str) -> None:
        target = _path(path)
        draft = _draft(target)
        shutil.copyfile(local, draft)
        draft.replace(target)

    def download(self, path: str, local: Path) -> None:
        shutil.copyfile(_path(path), local)


def _path(uri: str) -> Path:
    return Path(re.sub("^file:/+", "/", uri, flags=re.IGNORECASE))


def _below(top: Path) -> list[Path]:
    """Return a file, or all files below a folder."""
    return [top] if top.is_file() else sorted(each for each in top.rglob("*") if each.is_file())


def _draft(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f".{path.name}.draft")
