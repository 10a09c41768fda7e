"""A late session: how does Spark start only when something has to run, and stop only where it was started?"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from cbnet.pipeline.spark.session import spark_session


class LateSession:
    """A session that starts when it is first asked for, and stops at the end of a `with` block.

    One that was running before is used, and goes on.
    """

    def __init__(self, name: str, *, master: str | None = None, conf: Mapping[str, str] | None = None) -> None:
        self._name, self._master, self._conf = name, master, conf
        self._spark: SparkSession | None = None
        self._is_own = SparkSession.getActiveSession() is None

    def start(self) -> SparkSession:
        """Return the session."""
        if self._spark is None:
            self._spark = spark_session(self._name, master=self._master, conf=self._conf)
        return self._spark

    def __enter__(self) -> LateSession:
        return self

    def __exit__(self, *_: object) -> None:
        if self._spark is not None and self._is_own:
            self._spark.stop()
