"""The lock of an output folder, which keeps two runs apart.

    out/_lock                            the run that holds it
    out/_lock-3f9a…-20260731T201500      when that run last renewed it

The lock is created exclusively: by the operating system on a disk, by the name node of HDFS, by a conditional write on
S3. An object store without conditional writes leaves a short gap: there the lock is only read back.

The lock of a process of this system, in the same container, expires when the process ends; any other lock expires two
minutes after its last renewal, by the clocks of both machines. Renewals are new files, so that none is ever missing.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex
from threading import Event, Thread

import psutil
from pyspark.sql import SparkSession

from cbnet.errors import CbnetError
from cbnet.pipeline.spark.filesystem import create_text, delete, list_names, read_text

LOCK = "_lock"
_RENEWAL = 20.0  # seconds
_EXPIRY = timedelta(seconds=120)
_TIME = "%Y%m%dT%H%M%S"


@dataclass(frozen=True)
class LockHolder:
    """The process of a run."""

    host: str
    pid: int
    system: str  # where `pid` is a process: one start of one machine, and a container on it
    began: float  # when the process began: its number may be used again
    since: str  # when the run began, in UTC
    token: str
    renewed: str = ""  # when the run last renewed the lock, in UTC

    @classmethod
    def current(cls) -> LockHolder:
        """Return a holder in this process."""
        began = psutil.Process().create_time()
        return cls(socket.gethostname(), os.getpid(), _system(), began, _now().strftime(_TIME), token_hex(8))

    @property
    def has_ended(self) -> bool:
        """Whether this is known to have ended: by its process if that can be seen from here, else by its renewals."""
        if self.system != _system():
            last = datetime.strptime(max(self.since, self.renewed), _TIME).replace(tzinfo=UTC)
            return _now() - last > _EXPIRY
        try:
            return abs(psutil.Process(self.pid).create_time() - self.began) > 1
        except psutil.NoSuchProcess:
            return True

    def __str__(self) -> str:
        since = datetime.strptime(self.since, _TIME).isoformat()
        return f"process {self.pid} on {self.host}, since {since}"


@contextmanager
def locked(spark: SparkSession | None, out: str, *, renewal: float = _RENEWAL) -> Iterator[Callable[[], bool]]:
    """Hold the lock of an output folder, and renew it every `renewal` seconds; yield whether it is still held.

    If another run has it, raise an error that names the holder.
    """
    path = f"{out}/{LOCK}"
    holder = LockHolder.current()
    text = json.dumps(asdict(holder)) + "\n"
    if not create_text(spark, path, text):
        _remove_stale(spark, path, out)
        if not create_text(spark, path, text):
            raise _in_use(out, lock_holder(spark, out))
    if read_text(spark, path) != text:
        raise _in_use(out, lock_holder(spark, out))
    stop = Event()
    thread = Thread(target=_renew, args=(spark, out, holder, text, stop, renewal), daemon=True, name="lock")
    thread.start()
    try:
        yield lambda: read_text(spark, path) == text
    finally:
        stop.set()
        thread.join()
        for name in _renewals(spark, out, holder.token):
            delete(spark, f"{out}/{name}")
        if read_text(spark, path) == text:
            delete(spark, path)


def lock_holder(spark: SparkSession | None, out: str) -> LockHolder | None:
    """Return the holder of the lock of a folder; None if it is free or cannot be read."""
    try:
        holder = LockHolder(**json.loads(read_text(spark, f"{out}/{LOCK}") or ""))
    except (ValueError, TypeError):
        return None
    times = [name.rpartition("-")[2] for name in _renewals(spark, out, holder.token)]
    return replace(holder, renewed=max(times, default=""))


def _renew(spark: SparkSession | None, out: str, holder: LockHolder, text: str, stop: Event, interval: float) -> None:
    """Renew a lock until this run ends it, or another run has taken it over."""
    while not stop.wait(interval):
        with suppress(Exception):  # of any type, from a file system that may work again the next time
            if read_text(spark, f"{out}/{LOCK}") != text:
                return
            before = _renewals(spark, out, holder.token)
            name = f"{LOCK}-{holder.token}-{_now().strftime(_TIME)}"
            create_text(spark, f"{out}/{name}", "")
            for old in {*before} - {name}:
                delete(spark, f"{out}/{old}")


def _renewals(spark: SparkSession | None, out: str, token: str) -> list[str]:
    return [name for name in list_names(spark, out) if name.startswith(f"{LOCK}-{token}-")]


def _remove_stale(spark: SparkSession | None, path: str, out: str) -> None:
    """Delete the lock of a run that has ended; of several runs that try this, one succeeds."""
    claim = f"{path}-takeover"
    if not create_text(spark, claim, ""):
        raise CbnetError(f"{out} is being taken over by another run; if there is none, delete {claim}")
    try:
        holder = lock_holder(spark, out)
        if holder is not None and holder.has_ended:
            for name in _renewals(spark, out, holder.token):
                delete(spark, f"{out}/{name}")
            delete(spark, path)
    finally:
        delete(spark, claim)


def _in_use(out: str, holder: LockHolder | None) -> CbnetError:
    remedy = f"wait for it to end; a lock that is not renewed for {_EXPIRY.seconds} s is taken over"
    if holder is None:
        remedy = f"wait for it to end, or delete {out}/{LOCK} if it has ended"
    return CbnetError(f"{out} is in use by another run: {holder or 'unknown process'}; {remedy}")


def _now() -> datetime:
    return datetime.now(UTC)


def _system() -> str:
    """Return a name of this start of this machine and of this container: where process numbers mean the same."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:  # not Linux: no containers share a name there
        return f"{socket.gethostname()}/{psutil.boot_time():.0f}"
