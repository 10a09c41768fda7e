"""The page that a pipeline run leaves beside its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cbnet.pipeline.spark.results import StoredResult

_PAGE = "report.html"


def write_page(session: Callable[[], SparkSession], out: str, results: Sequence[StoredResult]) -> str | None:
    """Write the page of a run to its folder; return its path, or None if the packages for charts are missing.

    session: starts Spark, if only Spark can write there.
    """
    if find_spec("altair") is None:
        return None
    from cbnet.lab.report.page import html
    from cbnet.lab.report.pipeline_page import pipeline_page
    from cbnet.pipeline.spark.filesystem import needs_session, spark_path, write_text

    page = pipeline_page(out, {result.provenance.stage: result.manifest() for result in results})
    path = f"{out}/{_PAGE}"
    write_text(session() if needs_session(path) else None, spark_path(path), html(page))
    return path
