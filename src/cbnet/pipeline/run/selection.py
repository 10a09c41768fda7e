"""The selection of stages to run, and the reason for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from cbnet.errors import InputError
from cbnet.pipeline.run.plan import StageState, StageStatus


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
        if found.intersection(status.planned.stage.needs):
            found.add(status.name)
    return found


def _check_inputs(decisions: Sequence[Decision]) -> None:
    ready: set[str] = set()
    for decision in decisions:
        lacking = [name for name in decision.status.planned.stage.needs if name not in ready]
        if decision.is_to_run and lacking:
            state = next(each.status.state for each in decisions if each.name == lacking[0])
            hint = f"add --only {lacking[0]}, or leave --only out"
            raise InputError(f"stage {decision.name} needs {lacking[0]}, which is {state}", hint=hint)
        if decision.is_to_run or decision.status.state is StageState.DONE:
            ready.add(decision.name)
