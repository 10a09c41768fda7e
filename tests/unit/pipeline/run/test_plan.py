from dataclasses import replace

import pytest

from cbnet.errors import InputError
from cbnet.pipeline.run.configuration import read_config
from cbnet.pipeline.run.plan import check_reach, needs_spark, plan, states


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
    before = {each.stage.name: each.provenance.fingerprint for each in plan(settings)}

    def raised(config):
        for stage in stages(config):
            yield replace(stage, version=2) if stage.name == "predicates" else stage

    monkeypatch.setattr(module, "stages_of", raised)
    after = {each.stage.name: each.provenance.fingerprint for each in plan(settings)}
    assert {name for name in before if before[name] != after[name]} == {"predicates", "fib", "table1"}
    assert [each.name for each in states(settings)] == [*before]
