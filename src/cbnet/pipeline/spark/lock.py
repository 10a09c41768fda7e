"""The lock of an output folder, which keeps two runs apart.

`out/_lock` names the run that holds it. It is created exclusively: by the operating system on a disk, by the name node
of HDFS, by a conditional write on S3. An object store without conditional writes leaves a short gap: there the lock
is only read back. The lock of a process of this host that has ended is taken over.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from secrets import token_hex

import psutil
from pyspark.sql import SparkSession

from cbnet.errors import CbnetError
from cbnet.pipeline.spark.filesystem import create_text, delete, read_text, spark_path

LOCK = "_lock"


@dataclass(frozen=True)
class LockHolder:
    """The process of a run."""

    host: str
    pid: int
    began: float  # when the process began: its number may be used again
    since: str  # when the run began, in UTC
    token: str

    @classmethod
    def current(cls) -> LockHolder:
        """Return a holder in this process."""
        began, since = psutil.Process().create_time(), datetime.now(UTC).isoformat(timespec="seconds")
        return cls(socket.gethostname(), os.getpid(), began, since, token_hex(8))

    @property
    def has_ended(self) -> bool:
        """Whether this is known to have ended; processes of other hosts are not seen."""
        if self.host != socket.gethostname():
            return False
        try:
            return abs(psutil.Process(self.pid).create_time() - self.began) > 1
        except psutil.NoSuchProcess:
            return True

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


@contextmanager
def locked(spark: SparkSession | None, out: str) -> Iterator[None]:
    """Hold the lock of an output folder; raise an error that names the holder if another run has it."""
    path = spark_path(f"{out}/{LOCK}")
    text = json.dumps(asdict(LockHolder.current())) + "\n"
    if not create_text(spark, path, text):
        _remove_stale(spark, path, out)
        if not create_text(spark, path, text):
            raise _in_use(out, lock_holder(spark, out))
    if read_text(spark, path) != text:
        raise _in_use(out, lock_holder(spark, out))
    try:
        yield
    finally:
        if read_text(spark, path) == text:
            delete(spark, path)


def lock_holder(spark: SparkSession | None, out: str) -> LockHolder | None:
    """Return the holder of the lock of a folder; None if it is free or cannot be read."""
    try:
        return LockHolder(**json.loads(read_text(spark, spark_path(f"{out}/{LOCK}")) or ""))
    except (ValueError, TypeError):
        return None


def _remove_stale(spark: SparkSession | None, path: str, out: str) -> None:
    """Delete the lock of a process that has ended; of several runs that try this, one succeeds."""
    claim = f"{path}-takeover"
    if not create_text(spark, claim, ""):
        raise CbnetError(f"{out} is being taken over by another run; if there is none, delete {claim}")
    try:
        holder = lock_holder(spark, out)
        if holder is not None and holder.has_ended:
            delete(spark, path)
    finally:
        delete(spark, claim)


def _in_use(out: str, holder: LockHolder | None) -> CbnetError:
    return CbnetError(
        f"{out} is in use by another run: {holder or 'unknown process'}; wait for it to end, or delete {out}/{LOCK}"
        " if it has ended"
    )
