"""Execution of the stages of a configuration, without repeating finished work.

Stages run in order; one whose result is done is skipped. A result counts only once its manifest is written, so a killed
run resumes at the stage that it was in. A stage whose result has lost a file runs again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from time import monotonic

from pyspark.sql import SparkSession

from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.run.plan import (
    Decision,
    Selection,
    StageState,
    StageStatus,
    check_reach,
    decide,
    needs_spark,
    states,
)
from cbnet.pipeline.run.stage import StageContext
from cbnet.pipeline.spark.costs import CostMeter
from cbnet.pipeline.spark.failures import one_line_errors
from cbnet.pipeline.spark.progress import step
from cbnet.pipeline.spark.results import StoredResult, draft_result, publish, writing

_ALL = Selection()


@dataclass(frozen=True)
class StageOutcome:
    """The result of a stage, and whether this run computed it."""

    name: str
    result: StoredResult
    is_new: bool


def run(
    config: Config,
    session: Callable[[], SparkSession],
    report: Callable[[Decision], None] = lambda _: None,
    selection: Selection = _ALL,
) -> Iterator[StageOutcome]:
    """Run the stages that are not done, and yield the outcome of every stage that has a result.

    `report` is called with the decision for each stage that begins, `session` when Spark is first needed: never, if all
    results are local and current. Another run in the same folder is an error.
    """
    spark = session() if needs_spark(config) else None
    decisions = decide([*states(config, spark)], selection)
    check = _without_a_lock
    with ExitStack() as stack:
        if any(decision.is_to_run for decision in decisions):
            check = stack.enter_context(writing(spark, config.out))
            decisions = decide([*states(config, spark)], selection)  # another run may have ended meanwhile
            spark = spark or session()
            check_reach(config, str(spark.sparkContext.master))
        yield from _outcomes(decisions, config, spark, report, check)


def _without_a_lock() -> None:
    """Check nothing: no stage is to run."""


def _outcomes(
    decisions: Sequence[Decision],
    config: Config,
    spark: SparkSession | None,
    report: Callable[[Decision], None],
    check: Callable[[], None],
) -> Iterator[StageOutcome]:
    context: StageContext | None = None
    results: dict[str, StoredResult] = {}
    for decision in decisions:
        if decision.is_to_run:
            assert spark is not None
            if context is None:
                context = StageContext(spark, config, results)
                context.check()
            report(decision)
            results[decision.name] = _run_stage(context, decision.status, check)
        elif decision.status.state is StageState.DONE and decision.status.result is not None:
            results[decision.name] = decision.status.result
        if decision.name in results:
            yield StageOutcome(decision.name, results[decision.name], decision.is_to_run)


def _run_stage(context: StageContext, planned: StageStatus, check: Callable[[], None]) -> StoredResult:
    """Run a stage, and publish its result if the `check` of the lock raises no error."""
    spark, started = context.spark, monotonic()
    name = planned.stage.name
    with one_line_errors(f"stage {name}"), step(spark, name), CostMeter(spark) as meter:
        output = planned.stage.work(context)
        draft = draft_result(
            spark, output.content, context.config.out, name, planned.provenance, partition_by=output.partition_by,
            started=started, facts=output.facts, cost=meter.cost, files=planned.stage.files,
        )  # fmt: skip
        check()
        return publish(spark, context.config.out, draft)
