from dataclasses import replace

import pytest

from cbnet.errors import InputError
from cbnet.pipeline.run.configuration import read_config
from cbnet.pipeline.run.plan import Selection, StageState, StageStatus, check_reach, decide, needs_spark, states
from cbnet.pipeline.run.stage import Stage
from cbnet.pipeline.spark.results import Provenance


@pytest.fixture
def config(tmp_path):
    def build(text, out):
        (tmp_path / "run.toml").write_text(text)
        return read_config(tmp_path / "run.toml", out=out)

    return build


TRACE = """
[sources.b]
preset = "bookmarks"
path = "{path}"
[applications.web]
read = "b"
"""


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://https://host:443"])
def test_local_paths_are_refused_on_a_cluster(config, tmp_path, master):
    with pytest.raises(InputError, match=f"executors of {master} cannot reach") as raised:
        check_reach(config("", str(tmp_path / "run")), master)
    assert f"or file://{tmp_path}/run if it is shared by all machines" in str(raised.value)
    with pytest.raises(InputError, match=r"b\.tsv: the executors"):
        check_reach(config(TRACE.format(path="b.tsv"), "hdfs://host/run"), master)


def test_uris_and_local_masters_are_accepted(config, tmp_path):
    for out in ("hdfs://host/run", "s3a://bucket/run", f"file://{tmp_path}/run"):
        check_reach(config(TRACE.format(path="gs://bucket/b.tsv"), out), "spark://host:7077")
    for master in ("local[*]", "local-cluster[2,1,1024]"):
        check_reach(config("", str(tmp_path / "run")), master)
    graph = "[network]\ngraph = 'g.txt'\nusers = 'u.csv'\n"  # which the driver reads
    check_reach(config(graph, "hdfs://host/run"), "yarn")


@pytest.mark.parametrize(
    ("text", "out", "needed"),
    [
        ("", "run", False),
        ("", "file:///data/run", False),
        ("", "s3a://bucket/run", True),
        ("[network]\ngraph = 'hdfs://host/g.txt'", "run", True),
        ("[network]\nusers = 'hdfs://host/u.csv'", "run", True),
        (TRACE.format(path="s3a://bucket/b.tsv"), "run", True),
        (TRACE.format(path="file:///b.tsv"), "run", False),
    ],
)
def test_session_is_needed_for_remote_paths_only(config, text, out, needed):
    assert needs_spark(config(text, out)) == needed


def test_version_of_a_stage_changes_its_fingerprint_and_those_after_it(config, tmp_path, monkeypatch):
    from cbnet.pipeline.run import plan as module

    stages = module.stages_of
    settings = config("", str(tmp_path / "run"))
    before = {each.name: each.provenance.fingerprint for each in states(settings)}

    def raised(config):
        for stage in stages(config):
            yield replace(stage, version=2) if stage.name == "predicates" else stage

    monkeypatch.setattr(module, "stages_of", raised)
    after = {each.name: each.provenance.fingerprint for each in states(settings)}
    assert {name for name in before if before[name] != after[name]} == {"predicates", "fib", "table1"}
    assert [each.name for each in states(settings)] == [*before]


NEEDS = {
    "models": (), "population": ("models",), "loads": ("population",), "predicates": ("population",),
    "fib": ("predicates",), "table1": ("fib", "loads"), "folded/1": ("predicates",), "folded/8": ("predicates",),
}  # fmt: skip


def statuses(**states):
    for name, needs in NEEDS.items():
        stage = Stage(name, None, needs=needs)
        yield StageStatus(stage, name, Provenance(name), states.get(name, StageState.DONE))


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
