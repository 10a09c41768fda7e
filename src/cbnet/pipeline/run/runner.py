"""Execution of the stages of a configuration, without repeating finished work.

Stages run in order; one whose result is done is skipped. A result counts only once its manifest is written, so a killed
run resumes at the stage that it was in. A stage whose result has lost a file runs again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic

from pyspark.sql import SparkSession

from cbnet.errors import CbnetError
from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.run.plan import PlannedStage, StageState, StageStatus, needs_spark, states
from cbnet.pipeline.run.stage import StageContext
from cbnet.pipeline.spark.costs import CostMeter
from cbnet.pipeline.spark.progress import step
from cbnet.pipeline.spark.results import StoredResult, write_result
from cbnet.pipeline.spark.session import SPARK_ERRORS


@dataclass(frozen=True)
class StageOutcome:
    """The result of a stage, and whether this run computed it."""

    name: str
    result: StoredResult
    is_new: bool


def run(
    config: Config, session: Callable[[], SparkSession], report: Callable[[StageStatus], None] = lambda _: None
) -> Iterator[StageOutcome]:
    """Run the stages that are not done, and yield the outcome of every stage.

    `report` is called with the status of each stage that begins, `session` when Spark is first needed: never, if all
    results are local and current.
    """
    spark = session() if needs_spark(config) else None
    context: StageContext | None = None
    results: dict[str, StoredResult] = {}
    for status in [*states(config, spark)]:
        is_new = status.state is not StageState.DONE or status.result is None
        if status.state is StageState.DONE and status.result is not None:
            results[status.name] = status.result
        else:
            spark = spark or session()
            if context is None:
                context = StageContext(spark, config, results)
                context.check()
            report(status)
            results[status.name] = _run_stage(context, status.planned)
        yield StageOutcome(status.name, results[status.name], is_new)


def _run_stage(context: StageContext, planned: PlannedStage) -> StoredResult:
    spark, started = context.spark, monotonic()
    try:
        with step(spark, planned.stage.name), CostMeter(spark) as meter:
            output = planned.stage.work(context)
            folder, provenance = planned.folder, planned.provenance
            return write_result(
                spark, output.content, folder, provenance, started=started, facts=output.facts, cost=meter.cost
            )
    except SPARK_ERRORS as error:
        raise CbnetError(f"stage {planned.stage.name} failed: {_error_line(error)}") from error


def _error_line(error: Exception) -> str:
    """Return the most specific line of an error: one of cbnet's own if there is one, else the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    own = [line for line in lines if line.startswith("cbnet.errors.")]
    return (own or lines or [type(error).__name__])[0]
