"""The stages of a configuration, the state of their stored results, and which of them are to run.

A stage is described by its provenance: name, version, parameters, input files and the fingerprints of the stages that
it needs. A changed parameter changes the fingerprints of the stages that depend on it, and of no others. Input files
are compared by name, size and modification time: to read gigabytes would take longer than most stages. Their location
does not matter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from pyspark.sql import SparkSession

from cbnet.errors import InputError
from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.run.optional_stages import optional_stages
from cbnet.pipeline.run.population_stages import population_stages
from cbnet.pipeline.run.stage import Stage
from cbnet.pipeline.run.table_stages import table_stages
from cbnet.pipeline.run.trace_stages import trace_stages
from cbnet.pipeline.spark.filesystem import check_paths, find_files, needs_session
from cbnet.pipeline.spark.results import Provenance, StoredResult, damage, read_result


class StageState(StrEnum):
    """State of the stored result of a stage."""

    DONE = "done"
    STALE = "stale"  # stored by other parameters or inputs
    MISSING = "missing"
    DAMAGED = "damaged"  # a file is lost or changed


@dataclass(frozen=True)
class StageStatus:
    """A stage and its provenance, the state of its stored result, and the reason for it."""

    stage: Stage
    folder: str  # of the result
    provenance: Provenance
    state: StageState
    reason: str = ""
    result: StoredResult | None = None

    @property
    def name(self) -> str:
        """The name of the stage."""
        return self.stage.name


@dataclass(frozen=True)
class Selection:
    """What a user asks for; by default, to run the stages that are not done.

    The name of a group, such as `folded`, stands for all its stages, such as `folded/8`.
    """

    start: Sequence[str] = ()  # run these again, and the stages that depend on them
    only: Sequence[str] = ()  # run no others
    force: bool = False  # run also stages that are done


@dataclass(frozen=True)
class Decision:
    """Whether a stage is to run, and why."""

    status: StageStatus
    is_to_run: bool
    reason: str

    @property
    def name(self) -> str:
        """The name of the stage."""
        return self.status.name


def stages_of(config: Config) -> list[Stage]:
    """Return the stages of a run, each after those that it needs."""
    groups = (trace_stages, population_stages, table_stages, optional_stages)
    return [stage for stages in groups for stage in stages(config)]


def needs_spark(config: Config) -> bool:
    """Return whether the states of the stages can be read only with a session, as some files are remote."""
    paths = [config.out, *(path for stage in stages_of(config) for path in stage.files)]
    return any(map(needs_session, paths))


def check_reach(config: Config, master: str) -> None:
    """Raise an error if the executors of a cluster cannot reach a path, as it is one of this machine."""
    traces = (path for stage in stages_of(config) if stage.name.startswith("sources/") for path in stage.files)
    check_paths((config.out, *traces), master)


def states(config: Config, spark: SparkSession | None = None) -> Iterator[StageStatus]:
    """Yield the state of each stage; remote files need a session."""
    fingerprints: dict[str, str] = {}
    for stage in stages_of(config):
        inputs = {name: fingerprints[name] for name in stage.needs}
        if stage.files:
            inputs["files"] = files_fingerprint(stage.files, spark)
        provenance = Provenance(stage.name, stage.parameters, inputs, stage.version)
        fingerprints[stage.name] = provenance.fingerprint
        folder = f"{config.out}/{stage.name}"
        yield StageStatus(stage, folder, provenance, *_state(spark, folder, provenance))


def _state(spark: SparkSession | None, folder: str, planned: Provenance) -> tuple[StageState, str, StoredResult | None]:
    """Return the state of the result in a folder, the reason, and the result."""
    try:
        stored = read_result(spark, folder)
    except InputError as error:
        return StageState.DAMAGED, error.problem, None
    if stored is None:
        return StageState.MISSING, "", None
    if stored.provenance.fingerprint != planned.fingerprint:
        return StageState.STALE, _difference(stored.provenance, planned), stored
    wrong = damage(spark, stored)
    return StageState.DAMAGED if wrong else StageState.DONE, wrong or "", stored


def _difference(stored: Provenance, planned: Provenance) -> str:
    """Return which parameters and inputs of a stage have changed."""
    if stored.version != planned.version:
        return f"version {stored.version} of the stage is now {planned.version}"
    parameters = _changed(stored.parameters, planned.parameters)
    inputs = _changed(stored.inputs, planned.inputs)
    return ", ".join([*parameters, *inputs]) + " changed"


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [key for key in {**before, **after} if before.get(key) != after.get(key)]


def files_fingerprint(paths: Sequence[str], spark: SparkSession | None = None) -> str:
    """Return a fingerprint of the files of paths, folders and patterns; remote ones need a session."""
    listed = [sorted(_files(spark, path)) for path in paths]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()


def _files(spark: SparkSession | None, path: str) -> Iterator[tuple[str, int, int]]:
    """Yield name below the path, bytes and milliseconds of each file."""
    found = find_files(spark, path)
    if not found:
        hint = None if needs_session(path) else "paths are relative to the configuration file"
        raise InputError(f"no file matches {path!r}", hint=hint)
    # Spark does not read hidden files either.
    yield from (file for file in found if not file[0].rpartition("/")[2].startswith((".", "_")))


def decide(statuses: Sequence[StageStatus], selection: Selection) -> list[Decision]:
    """Return a decision for each stage; raise an error if a stage is selected whose inputs are not there."""
    allowed = _named(selection.only, statuses) or {status.name for status in statuses}
    starts = _named(selection.start, statuses)
    again = _dependents(starts, statuses)
    decisions = []
    for status in statuses:
        name, is_done = status.name, status.state is StageState.DONE
        if name not in allowed:
            decision = Decision(status, False, "not selected")
        elif not is_done:
            decision = Decision(status, True, f"{status.state}: {status.reason}" if status.reason else status.state)
        elif name in again:
            decision = Decision(status, True, "--from" if name in starts else "depends on --from")
        else:
            decision = Decision(status, selection.force and not starts, "--force" if selection.force else "done")
        decisions.append(decision)
    _check_inputs(decisions)
    return decisions


def _named(names: Iterable[str], statuses: Sequence[StageStatus]) -> set[str]:
    stages = [status.name for status in statuses]
    found = set()
    for name in names:
        of_name = {stage for stage in stages if stage == name or stage.startswith(f"{name}/")}
        if not of_name:
            near = get_close_matches(name, stages, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the stages are {', '.join(stages)}"
            raise InputError(f"there is no stage {name!r}", hint=hint)
        found |= of_name
    return found


def _dependents(starts: set[str], statuses: Sequence[StageStatus]) -> set[str]:
    """Return stages and all that depend on them; stages come after those that they need."""
    found = {*starts}
    for status in statuses:
        if found.intersection(status.stage.needs):
            found.add(status.name)
    return found


def _check_inputs(decisions: Sequence[Decision]) -> None:
    ready: set[str] = set()
    for decision in decisions:
        lacking = [name for name in decision.status.stage.needs if name not in ready]
        if decision.is_to_run and lacking:
            state = next(each.status.state for each in decisions if each.name == lacking[0])
            hint = f"add --only {lacking[0]}, or leave --only out"
            raise InputError(f"stage {decision.name} needs {lacking[0]}, which is {state}", hint=hint)
        if decision.is_to_run or decision.status.state is StageState.DONE:
            ready.add(decision.name)
