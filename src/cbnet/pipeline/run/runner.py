"""Run: how do the stages of a configuration become results, so that nothing is done twice?

    plan    every stage with what makes its result: its parameters, its files, the fingerprints of the stages before
    run     in order; a stage whose result is there, made by just that, is not run again

A result counts only once its `_cbnet.json` is there, so a run that was killed goes on at the stage that it was in. A
changed parameter changes the fingerprints of what depends on it, and of nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from time import monotonic

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cbnet.errors import CbnetError
from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.run.input_fingerprint import files_fingerprint
from cbnet.pipeline.run.stage import Stage, Workplace
from cbnet.pipeline.run.stages.extras import more_stages
from cbnet.pipeline.run.stages.people import people_stages
from cbnet.pipeline.run.stages.tables import table_stages
from cbnet.pipeline.run.stages.traces import trace_stages
from cbnet.pipeline.spark.costs import Meter
from cbnet.pipeline.spark.progress import step
from cbnet.pipeline.spark.results import Made, Result, is_done, is_local, mark_whole, read_result, write_result


class State(StrEnum):
    """How it stands with a stage."""

    DONE = "done"
    STALE = "stale"  # there is a result, of other parameters or inputs
    MISSING = "missing"


@dataclass(frozen=True)
class Planned:
    """A stage, where its result goes, and what makes it."""

    stage: Stage
    folder: str
    made: Made


@dataclass(frozen=True)
class Outcome:
    """The result of a stage, and whether it was made now."""

    name: str
    result: Result
    is_new: bool


def stages_of(config: Config) -> list[Stage]:
    """Return the stages of a run, each behind those that it needs."""
    return [*trace_stages(config), *people_stages(config), *table_stages(config), *more_stages(config)]


def plan(config: Config, spark: SparkSession | None = None) -> list[Planned]:
    """Return the stages with what makes each; without a session if all files are of this machine."""
    planned: dict[str, Planned] = {}
    for stage in stages_of(config):
        inputs = {name: planned[name].made.fingerprint for name in stage.needs}
        if stage.files:
            inputs["files"] = files_fingerprint(stage.files, spark)
        made = Made(stage.name, stage.parameters, inputs)
        planned[stage.name] = Planned(stage, f"{config.out}/{stage.name}", made)
    return [*planned.values()]


def needs_spark(config: Config) -> bool:
    """Return whether even to look at what is there takes a session: some of it is not on this machine."""
    places = [config.out, *(path for stage in stages_of(config) for path in stage.files)]
    return not all(map(is_local, places))


def states(config: Config, spark: SparkSession | None = None) -> Iterator[tuple[str, State, Result | None]]:
    """Yield how it stands with each stage, and the result that is there."""
    for each in plan(config, spark):
        found = read_result(spark, each.folder)
        if found is None:
            yield each.stage.name, State.MISSING, None
        else:
            same = found.made.fingerprint == each.made.fingerprint
            yield each.stage.name, State.DONE if same else State.STALE, found


def run(
    config: Config, session: Callable[[], SparkSession], tell: Callable[[str], None] = lambda _: None
) -> Iterator[Outcome]:
    """Run what has to be run, and yield the outcome of every stage; `tell` is given the name of each that begins.

    The session is asked for when it is needed: never, if all is done and of this machine.
    """
    spark = session() if needs_spark(config) else None
    place: Workplace | None = None
    results: dict[str, Result] = {}
    for each in plan(config, spark):
        name = each.stage.name
        found = is_done(spark, each.folder, each.made)
        if found is None:
            spark = spark or session()
            if place is None:
                place = Workplace(spark, config, results)
                place.check()
            tell(name)
            results[name] = _made(place, each)
        else:
            results[name] = found
        yield Outcome(name, results[name], found is None)


def _made(place: Workplace, planned: Planned) -> Result:
    spark, started = place.spark, monotonic()
    try:
        with step(spark, planned.stage.name), Meter(spark) as meter:
            output = planned.stage.work(place)

            def facts() -> dict[str, object]:
                return {**output.facts(), "cost": meter.cost()}

            if output.frame is not None:
                return write_result(output.frame, planned.folder, planned.made, started=started, facts=facts)
            return mark_whole(spark, Result(planned.folder, planned.made, output.rows, 0.0), started, facts)
    except (PySparkException, Py4JError) as error:
        raise CbnetError(f"stage {planned.stage.name} failed: {_told(error)}") from error


def _told(error: Exception) -> str:
    """Return the line of an error that says most: one of our own, if Python told it, else the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("cbnet.errors.")]
    return (ours or lines or [type(error).__name__])[0]
