import pytest

from cbnet.errors import InputError
from cbnet.pipeline.run.plan import PlannedStage, StageState, StageStatus
from cbnet.pipeline.run.selection import Selection, decide
from cbnet.pipeline.run.stage import Stage
from cbnet.pipeline.spark.results import Provenance

NEEDS = {
    "models": (), "population": ("models",), "loads": ("population",), "predicates": ("population",),
    "fib": ("predicates",), "table1": ("fib", "loads"), "folded/1": ("predicates",), "folded/8": ("predicates",),
}  # fmt: skip


def statuses(**states):
    for name, needs in NEEDS.items():
        planned = PlannedStage(Stage(name, None, needs=needs), name, Provenance(name))
        yield StageStatus(planned, states.get(name, StageState.DONE))


def runs(selection=None, **states):
    return [each.name for each in decide([*statuses(**states)], selection or Selection()) if each.is_to_run]


def test_stages_that_are_not_done_run():
    assert runs() == []
    for state in (StageState.MISSING, StageState.STALE, StageState.DAMAGED):
        assert runs(loads=state, fib=state) == ["loads", "fib"]


def test_force_runs_all_or_the_selected_ones():
    assert runs(Selection(force=True)) == [*NEEDS]
    assert runs(Selection(only=["fib", "folded"], force=True)) == ["fib", "folded/1", "folded/8"]
    assert runs(Selection(only=["fib"])) == []


def test_from_runs_a_stage_and_all_that_depend_on_it():
    assert runs(Selection(start=["predicates"])) == ["predicates", "fib", "table1", "folded/1", "folded/8"]
    assert runs(Selection(start=["loads"])) == ["loads", "table1"]
    assert runs(Selection(start=["fib"]), loads=StageState.MISSING) == ["loads", "fib", "table1"]
    assert runs(Selection(start=["predicates"], only=["predicates", "fib"])) == ["predicates", "fib"]


def test_only_needs_the_stages_before():
    missing = StageState.MISSING
    assert runs(Selection(only=["loads"]), loads=missing, fib=missing) == ["loads"]
    with pytest.raises(InputError, match="stage fib needs predicates, which is missing; add --only predicates"):
        runs(Selection(only=["fib"]), predicates=missing, fib=missing)
    assert runs(Selection(only=["fib", "predicates"]), predicates=missing, fib=missing) == ["predicates", "fib"]


def test_reasons_are_given():
    found = decide([*statuses(fib=StageState.STALE)], Selection(start=["loads"]))
    reasons = {each.name: each.reason for each in found}
    assert reasons["models"] == "done"
    assert (reasons["loads"], reasons["table1"], reasons["fib"]) == ("--from", "depends on --from", "stale")


def test_unknown_stage_is_named():
    with pytest.raises(InputError, match="there is no stage 'predicate'; did you mean 'predicates'"):
        runs(Selection(only=["predicate"]))
