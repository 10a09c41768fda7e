"""Matches in a session whose settings are not those that cbnet would choose."""

import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from cbnet import Table
from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.match.match_job import MatchJob, run_match
from cbnet.pipeline.match.stored_matches import compact_batches
from cbnet.pipeline.spark.lock import locked
from cbnet.pipeline.spark.results import read_result
from cbnet.spark import MatchStream, StreamJob, match, read_rule

SETTINGS = {
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",  # usual on S3
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.adaptive.enabled": "false",
}


@pytest.fixture
def settings(spark):
    before = {key: spark.conf.get(key, None) for key in SETTINGS}
    for key, value in SETTINGS.items():
        spark.conf.set(key, value)
    yield
    for key, value in before.items():
        spark.conf.unset(key) if value is None else spark.conf.set(key, value)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    for file in range(2):
        rows = "".join(json.dumps({"file": file, "x": x}) + "\n" for x in range(20))
        (tmp_path / "in" / f"{file}.json").write_text(rows)
    return tmp_path


def job(folder, predicates):
    Table.build(predicates).save(folder / "table.cbt")
    return MatchJob(messages=[str(folder / "in")], format="json", tables=[str(folder / "table.cbt")])


def stored(spark, folder):
    rows = read_result(spark, str(folder / "out" / "matches")).frame(spark).collect()
    return {(row.file, row.x, row.rule) for row in rows}


@pytest.mark.usefixtures("settings")
def test_job_replaces_the_matches_of_the_job_before(spark, folder):
    run_match(spark, job(folder, {f"i{number}": "x >= 0" for number in range(10)}), str(folder / "out"))
    summary = run_match(spark, job(folder, {"one": "x = 3 and file = 0"}), str(folder / "out"))
    assert summary.matches == 1
    assert stored(spark, folder) == {(0, 3, "one")}


def test_failed_job_leaves_the_matches_of_the_job_before(spark, folder):
    run_match(spark, job(folder, {"one": "x = 3 and file = 0"}), str(folder / "out"))
    (folder / "in" / "bad.json").write_text('{"file": 2,\n')
    with pytest.raises(CbnetError, match="expected a name in double quotes"):
        # Without buckets, the tasks that match also write.
        run_match(spark, replace(job(folder, {"two": "x = 4"}), on_error="fail", buckets=0), str(folder / "out"))
    assert stored(spark, folder) == {(0, 3, "one")}
    assert json.loads((folder / "out" / "_cbnet.json").read_text())["summary"]["matches"] == 1
    assert not (folder / "out" / "_lock").exists()


def test_two_jobs_cannot_write_to_a_folder_together(spark, folder):
    with locked(spark, str(folder / "out")), pytest.raises(CbnetError, match="in use by another run"):
        run_match(spark, job(folder, {"one": "x = 3"}), str(folder / "out"))


def run_stream(spark, folder, out, **more):
    Table.build({"it": "x >= 0"}).save(folder / "table.cbt")
    task = StreamJob(
        messages=str(folder / "in"),
        format="json",
        tables=[str(folder / "table.cbt")],
        options={"maxFilesPerTrigger": "1"},
        **more,
    )
    return MatchStream(spark, task, out, checkpoint=str(folder / "checkpoint")).run(once=True)


@pytest.mark.usefixtures("settings")
def test_stream_is_complete_and_is_compacted_without_loss(spark, folder):
    out, expected = str(folder / "out"), [(file, x) for file in range(2) for x in range(20)]
    assert run_stream(spark, folder, out).matches == 40
    for batches in (["batch=0", "batch=1"], ["batch=1"]):
        found = read_rule(spark, out, "it")
        assert sorted((row.file, row.x) for row in found.collect()) == expected
        assert sorted(path.parent.name for path in (folder / "out" / "matches").glob("batch=*/_SUCCESS")) == batches
        compact_batches(spark, out, 2)


@pytest.mark.usefixtures("settings")
def test_lost_file_of_a_batch_stops_the_compaction(spark, folder):
    out = str(folder / "out")
    run_stream(spark, folder, out)
    next((folder / "out" / "matches" / "batch=0").rglob("*.parquet")).unlink()
    with pytest.raises(CbnetError, match=r"the compaction has \d+ matches, not 40; nothing is deleted"):
        compact_batches(spark, out, 2)
    assert sorted(path.name for path in (folder / "out" / "matches").glob("batch=*")) == ["batch=0", "batch=1"]


@pytest.mark.usefixtures("settings")
def test_replaced_file_of_a_batch_stops_the_compaction(spark, folder):
    run_stream(spark, folder, str(folder / "out"))
    file = next((folder / "out" / "matches" / "batch=0").rglob("*.parquet"))
    pq.write_table(pq.read_table(file, partitioning=None).slice(1), file)
    file.with_name(f".{file.name}.crc").unlink()
    with pytest.raises(CbnetError, match="39 matches, not 40; nothing is deleted"):
        compact_batches(spark, str(folder / "out"), 2)
    assert {"batch=0", "batch=1"} <= {path.name for path in (folder / "out" / "matches").iterdir()}


@pytest.mark.usefixtures("settings")
@pytest.mark.parametrize("remote", ["s3a"], indirect=True)  # jobs on a cluster use the other one
def test_jobs_and_streams_write_to_other_file_systems(spark, folder, remote):
    for _ in range(2):
        assert run_match(spark, job(folder, {"one": "x = 3"}), f"{remote}/job").matches == 2
    assert sorted(row.file for row in read_rule(spark, f"{remote}/job", "one").collect()) == [0, 1]
    run_stream(spark, folder, f"{remote}/stream")
    assert sorted(path.name for path in (folder / "stream" / "matches").iterdir()) == ["batch=0", "batch=1"]
    assert read_rule(spark, f"{remote}/stream", "it").count() == 40
    with pytest.raises(InputError, match="an object store cannot replace the folders of batches at once"):
        run_stream(spark, folder, f"{remote}/stream", compact=2)


def test_matching_gives_the_same_rows_with_any_settings(spark, borrowed):
    columns = ["1 as id", "timestamp'2024-05-01 10:00:00Z' as t", "date'2024-05-01' as d", "1.50BD as n", "'x' as s"]
    rules = {"t": 't = "2024-05-01T10:00:00.000000000Z"', "d": "exists d", "n": "n = 1.5", "s": 's = "x"'}
    frames = [session.sql(f"select {', '.join(columns)}") for session in (spark, borrowed)]
    usual, unusual = (
        sorted(row.rule for row in match(frame, Table.build(rules), key="id").collect()) for frame in frames
    )
    assert usual == unusual == ["d", "n", "s", "t"]
