"""Files of Hadoop's file systems: HDFS, object stores and whatever else a session is configured for.

A written file appears complete or not at all. Object stores have no rename, but show a file only once it is complete;
elsewhere a draft is renamed by `FileContext`, which raises errors instead of returning a status. On HDFS this replaces
an older file atomically; others, such as `abfs`, delete it first, so a file that must never be missing is written under
a new name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from cbnet.errors import CbnetError
from cbnet.pipeline.spark.session_target import is_connect

OBJECT_STORES = ("s3a", "s3", "gs", "oss", "obs", "cosn")
# S3A then writes with `If-None-Match`, so that of two clients one fails; others ignore the option.
_CONDITIONAL = "fs.option.create.conditional.overwrite"


class HadoopFiles:
    """The file systems of a session. A path without a scheme is one of the default file system."""

    def __init__(self, spark: SparkSession) -> None:
        if is_connect(spark):
            raise CbnetError("under Spark Connect, a program reads local files only: give a path of this machine")
        # Hadoop's objects have no Python types.
        self._java: Any = spark.sparkContext._jvm
        self._gateway: Any = spark.sparkContext._gateway
        self._configuration: Any = spark.sparkContext._jsc.hadoopConfiguration()

    def exists(self, path: str) -> bool:
        """Return whether a file or folder exists."""
        files, hadoop_path = self._at(path)
        return bool(files.exists(hadoop_path))

    def state(self, path: str) -> tuple[int, int] | None:
        """Return size and modification time of a file; None if there is no such file."""
        files, hadoop_path = self._at(path)
        if not files.exists(hadoop_path):
            return None
        status = files.getFileStatus(hadoop_path)
        return int(status.getLen()), int(status.getModificationTime())

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; an empty list if there is no such folder."""
        files, hadoop_path = self._at(folder)
        if not files.exists(hadoop_path) or files.getFileStatus(hadoop_path).isFile():
            return []
        return [str(status.getPath().getName()) for status in files.listStatus(hadoop_path)]

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes of all files below a folder, by name; empty if there is no such folder."""
        files, hadoop_path = self._at(folder)
        if not files.exists(hadoop_path):
            return {}
        top = files.getFileStatus(hadoop_path).getPath()
        return {name: size for name, size, _ in self._below(files, top, top)}

    def matches(self, pattern: str) -> Iterator[tuple[str, int, int]]:
        """Yield name, size and modification time of each file of a pattern, and of each below a folder of it."""
        files, hadoop_path = self._at(pattern)
        for status in files.globStatus(hadoop_path) or ():
            yield from self._below(files, status.getPath(), status.getPath().getParent())

    def _below(self, files: Any, path: Any, top: Any) -> Iterator[tuple[str, int, int]]:
        """Yield name below `top`, size and modification time in milliseconds of a file, or of all below a folder."""
        prefix = str(top.toUri().getPath())
        found = files.listFiles(path, True)
        while found.hasNext():
            status = found.next()
            name = str(status.getPath().toUri().getPath()).removeprefix(prefix).lstrip("/")
            yield name, int(status.getLen()), int(status.getModificationTime())

    def read(self, path: str) -> bytes | None:
        """Return the content of a file; None if there is no such file."""
        files, hadoop_path = self._at(path)
        if not files.exists(hadoop_path):
            return None
        with closing(files.open(hadoop_path)) as stream:
            return bytes(self._java.org.apache.commons.io.IOUtils.toByteArray(stream))

    def write(self, path: str, data: bytes) -> None:
        """Write a file; replace an existing one."""
        draft = _draft(path)
        files, hadoop_path = self._at(draft)
        with closing(files.create(hadoop_path, True)) as stream:
            stream.write(bytearray(data))
        if draft != path:
            self.rename(draft, path)

    def create(self, path: str, data: bytes) -> bool:
        """Write a new file; return False if there is one already."""
        files, hadoop_path = self._at(path)
        try:
            builder = files.createFile(hadoop_path).overwrite(False).recursive()
            with closing(builder.opt(_CONDITIONAL, True).build()) as stream:
                stream.write(bytearray(data))
        except Py4JJavaError:
            if files.exists(hadoop_path):
                return False
            raise
        return True

    def delete(self, path: str) -> None:
        """Delete a file or a folder with its contents, if it exists."""
        files, hadoop_path = self._at(path)
        if not files.delete(hadoop_path, True) and files.exists(hadoop_path):
            raise CbnetError(f"{path}: cannot delete")

    def rename(self, source: str, target: str) -> None:
        """Rename a file or a folder; only a file may replace another."""
        java, files, hadoop_path = self._java, *self._at(target)
        files.mkdirs(hadoop_path.getParent())
        options = getattr(java.org.apache.hadoop.fs, "Options$Rename")
        overwrite = self._gateway.new_array(options, 1)
        overwrite[0] = options.OVERWRITE
        context = java.org.apache.hadoop.fs.FileContext.getFileContext(files.getUri(), self._configuration)
        context.rename(self._path(source), hadoop_path, overwrite)

    def upload(self, local: Path, path: str) -> None:
        """Copy a local file to a path."""
        draft = _draft(path)
        files, hadoop_path = self._at(draft)
        files.copyFromLocalFile(False, True, self._path(local.absolute().as_uri()), hadoop_path)
        if draft != path:
            self.rename(draft, path)

    def download(self, path: str, local: Path) -> None:
        """Copy a file from a path to a local file."""
        files, hadoop_path = self._at(path)
        files.copyToLocalFile(False, hadoop_path, self._path(local.absolute().as_uri()), True)

    def _path(self, path: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(path)

    def _at(self, path: str) -> tuple[Any, Any]:
        hadoop_path = self._path(path)
        return hadoop_path.getFileSystem(self._configuration), hadoop_path


def _draft(path: str) -> str:
    """Return where a file is written: beside its path, or in an object store at the path itself."""
    if path.partition(":")[0] in OBJECT_STORES:
        return path
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name}.draft"
