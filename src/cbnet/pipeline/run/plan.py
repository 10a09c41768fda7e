"""The stages of a configuration, and the state of their stored results.

A stage is described by its provenance: name, version, parameters, input files and the fingerprints of the stages that
it needs. A changed parameter changes the fingerprints of the stages that depend on it, and of no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pyspark.sql import SparkSession

from cbnet.errors import InputError
from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.run.input_fingerprint import files_fingerprint
from cbnet.pipeline.run.stage import Stage
from cbnet.pipeline.run.stages.optional_results import optional_stages
from cbnet.pipeline.run.stages.population import population_stages
from cbnet.pipeline.run.stages.router_tables import router_table_stages
from cbnet.pipeline.run.stages.tables import table_stages
from cbnet.pipeline.run.stages.traces import trace_stages
from cbnet.pipeline.spark.filesystem import check_paths, needs_session
from cbnet.pipeline.spark.results import Provenance, StoredResult, damage, read_result


class StageState(StrEnum):
    """State of the stored result of a stage."""

    DONE = "done"
    STALE = "stale"  # stored by other parameters or inputs
    MISSING = "missing"
    DAMAGED = "damaged"  # a file is lost or changed


@dataclass(frozen=True)
class PlannedStage:
    """A stage, the folder of its result, and its provenance."""

    stage: Stage
    folder: str
    provenance: Provenance


@dataclass(frozen=True)
class StageStatus:
    """The state of a stage, the reason for it, and the stored result."""

    planned: PlannedStage
    state: StageState
    reason: str = ""
    result: StoredResult | None = None

    @property
    def name(self) -> str:
        """The name of the stage."""
        return self.planned.stage.name


def stages_of(config: Config) -> list[Stage]:
    """Return the stages of a run, each after those that it needs."""
    groups = (trace_stages, population_stages, table_stages, router_table_stages, optional_stages)
    return [stage for stages in groups for stage in stages(config)]


def plan(config: Config, spark: SparkSession | None = None) -> list[PlannedStage]:
    """Return the stages with their provenance; remote files need a session."""
    planned: dict[str, PlannedStage] = {}
    for stage in stages_of(config):
        inputs = {name: planned[name].provenance.fingerprint for name in stage.needs}
        if stage.files:
            inputs["files"] = files_fingerprint(stage.files, spark)
        provenance = Provenance(stage.name, stage.parameters, inputs, stage.version)
        planned[stage.name] = PlannedStage(stage, f"{config.out}/{stage.name}", provenance)
    return [*planned.values()]


def needs_spark(config: Config) -> bool:
    """Return whether the states of the stages can be read only with a session, as some files are remote."""
    paths = [config.out, *(path for stage in stages_of(config) for path in stage.files)]
    return any(map(needs_session, paths))


def check_reach(config: Config, master: str) -> None:
    """Raise an error if the executors of a cluster cannot reach a path, as it is one of this machine."""
    traces = (path for stage in stages_of(config) if stage.name.startswith("sources/") for path in stage.files)
    check_paths((config.out, *traces), master)


def states(config: Config, spark: SparkSession | None = None) -> Iterator[StageStatus]:
    """Yield the state of each stage."""
    for planned in plan(config, spark):
        yield _status(planned, spark)


def _status(planned: PlannedStage, spark: SparkSession | None) -> StageStatus:
    try:
        stored = read_result(spark, planned.folder)
    except InputError as error:
        return StageStatus(planned, StageState.DAMAGED, error.problem)
    if stored is None:
        return StageStatus(planned, StageState.MISSING)
    if stored.provenance.fingerprint != planned.provenance.fingerprint:
        return StageStatus(planned, StageState.STALE, _difference(stored.provenance, planned.provenance), stored)
    wrong = damage(spark, stored)
    return StageStatus(planned, StageState.DAMAGED if wrong else StageState.DONE, wrong or "", stored)


def _difference(stored: Provenance, planned: Provenance) -> str:
    """Return which parameters and inputs of a stage have changed."""
    if stored.version != planned.version:
        return f"version {stored.version} of the stage is now {planned.version}"
    parameters = _changed(stored.parameters, planned.parameters)
    inputs = _changed(stored.inputs, planned.inputs)
    return ", ".join([*parameters, *inputs]) + " changed"


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [key for key in {**before, **after} if before.get(key) != after.get(key)]
