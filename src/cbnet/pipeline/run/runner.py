"""Execution of the stages of a configuration, without repeating finished work.

    plan    every stage with its provenance: parameters, files, fingerprints of the stages before it
    run     in order; a stage with a complete result of the same provenance is skipped

A result counts only once its manifest is written, so a killed run resumes at the stage that it was in. A changed
parameter changes the fingerprints of the stages that depend on it, and of no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from time import monotonic

from pyspark.sql import SparkSession

from cbnet.errors import CbnetError
from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.run.input_fingerprint import files_fingerprint
from cbnet.pipeline.run.stage import Stage, StageContext
from cbnet.pipeline.run.stages.optional_results import optional_stages
from cbnet.pipeline.run.stages.population import population_stages
from cbnet.pipeline.run.stages.tables import table_stages
from cbnet.pipeline.run.stages.traces import trace_stages
from cbnet.pipeline.spark.costs import CostMeter
from cbnet.pipeline.spark.progress import step
from cbnet.pipeline.spark.results import (
    Provenance,
    StoredResult,
    current_result,
    is_local,
    read_result,
    write_manifest,
    write_result,
)
from cbnet.pipeline.spark.session import SPARK_ERRORS


class StageState(StrEnum):
    """State of the stored result of a stage."""

    DONE = "done"
    STALE = "stale"  # stored by other parameters or inputs
    MISSING = "missing"


@dataclass(frozen=True)
class PlannedStage:
    """A stage, the folder of its result, and its provenance."""

    stage: Stage
    folder: str
    provenance: Provenance


@dataclass(frozen=True)
class StageOutcome:
    """The result of a stage, and whether this run computed it."""

    name: str
    result: StoredResult
    is_new: bool


def stages_of(config: Config) -> list[Stage]:
    """Return the stages of a run, each after those that it needs."""
    return [*trace_stages(config), *population_stages(config), *table_stages(config), *optional_stages(config)]


def plan(config: Config, spark: SparkSession | None = None) -> list[PlannedStage]:
    """Return the stages with their provenance; remote files need a session."""
    planned: dict[str, PlannedStage] = {}
    for stage in stages_of(config):
        inputs = {name: planned[name].provenance.fingerprint for name in stage.needs}
        if stage.files:
            inputs["files"] = files_fingerprint(stage.files, spark)
        provenance = Provenance(stage.name, stage.parameters, inputs)
        planned[stage.name] = PlannedStage(stage, f"{config.out}/{stage.name}", provenance)
    return [*planned.values()]


def needs_spark(config: Config) -> bool:
    """Return whether the states of the stages can be read only with a session, as some files are remote."""
    paths = [config.out, *(path for stage in stages_of(config) for path in stage.files)]
    return not all(map(is_local, paths))


def states(config: Config, spark: SparkSession | None = None) -> Iterator[tuple[str, StageState, StoredResult | None]]:
    """Yield the name, the state and the stored result of each stage."""
    for planned in plan(config, spark):
        stored = read_result(spark, planned.folder)
        if stored is None:
            yield planned.stage.name, StageState.MISSING, None
        else:
            is_current = stored.provenance.fingerprint == planned.provenance.fingerprint
            yield planned.stage.name, StageState.DONE if is_current else StageState.STALE, stored


def run(
    config: Config, session: Callable[[], SparkSession], report: Callable[[str], None] = lambda _: None
) -> Iterator[StageOutcome]:
    """Run the stages that are not done, and yield the outcome of every stage.

    `report` is called with the name of each stage that begins, `session` when Spark is first needed: never, if all
    results are local and current.
    """
    spark = session() if needs_spark(config) else None
    context: StageContext | None = None
    results: dict[str, StoredResult] = {}
    for planned in plan(config, spark):
        name = planned.stage.name
        stored = current_result(spark, planned.folder, planned.provenance)
        if stored is None:
            spark = spark or session()
            if context is None:
                context = StageContext(spark, config, results)
                context.check()
            report(name)
            results[name] = _run_stage(context, planned)
        else:
            results[name] = stored
        yield StageOutcome(name, results[name], stored is None)


def _run_stage(context: StageContext, planned: PlannedStage) -> StoredResult:
    spark, started = context.spark, monotonic()
    try:
        with step(spark, planned.stage.name), CostMeter(spark) as meter:
            output = planned.stage.work(context)

            def facts() -> dict[str, object]:
                return {**output.facts(), "cost": meter.cost()}

            if output.frame is not None:
                return write_result(output.frame, planned.folder, planned.provenance, started=started, facts=facts)
            result = StoredResult(planned.folder, planned.provenance, output.rows, 0.0)
            return write_manifest(spark, result, started, facts)
    except SPARK_ERRORS as error:
        raise CbnetError(f"stage {planned.stage.name} failed: {_error_line(error)}") from error


def _error_line(error: Exception) -> str:
    """Return the most specific line of an error: one of cbnet's own if there is one, else the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    own = [line for line in lines if line.startswith("cbnet.errors.")]
    return (own or lines or [type(error).__name__])[0]
