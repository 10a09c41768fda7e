"""Errors of Spark, in one line; Spark logs the details."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from cbnet.errors import CbnetError

SPARK_ERRORS = (PySparkException, Py4JError)  # what a failed query raises
_OWN = re.compile(r"cbnet\.errors\.\w+: ")


@contextmanager
def one_line_errors(what: str) -> Iterator[None]:
    """Convert the errors of a failed query to one line."""
    try:
        yield
    except SPARK_ERRORS as error:
        raise failure(what, error) from error


def failure(what: str, error: Exception) -> CbnetError:
    """Return an error of Spark in one line."""
    return CbnetError(f"{what} failed: {cause(error)}")


def cause(error: Exception) -> str:
    """Return the line of an error that names its cause.

    That is an error of cbnet in a worker if there is one, the last line of another traceback of a worker, or the first.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    own = [line for line in lines if _OWN.match(line)]
    line = own[0] if own else lines[-1] if "Python worker" in lines[0] else lines[0]
    return _OWN.sub("", line, count=1)
