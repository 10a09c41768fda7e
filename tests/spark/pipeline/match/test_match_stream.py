"""Streams of files: exactly once, with the table pinned to each batch."""

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException

from cbnet import Table, connect
from cbnet.errors import CbnetError, InputError
from cbnet.network import ProcessNetwork, Settings
from cbnet.pipeline.match import match_stream, stored_matches
from cbnet.pipeline.match.stored_matches import compact_batches
from cbnet.spark import MatchStream, StreamJob, TableVersions

SMALL, LARGE = "x * 2 < 10", "x >= 5"


@pytest.fixture
def folders(tmp_path):
    (tmp_path / "in").mkdir()
    write_file(tmp_path, 0)
    save_table(tmp_path, SMALL)
    return tmp_path


def write_file(folder, number):
    """Write a file of ten messages, under its name only when it is whole."""
    draft = folder / "draft"
    draft.write_text("".join(json.dumps({"file": number, "x": x}) + "\n" for x in range(10)))
    draft.rename(folder / "in" / f"{number}.json")


def save_table(folder, predicate):
    Table.build({"it": predicate}).save(folder / "table.cbt")


def stream(spark, folder, **more):
    job = StreamJob(
        messages=str(folder / "in"),
        format="json",
        tables=[str(folder / "table.cbt")],
        options={"maxFilesPerTrigger": "1"},
        buckets=2,
        **more,
    )
    return MatchStream(spark, job, str(folder / "out"))


def rows(spark, folder):
    return [(row.file, row.x, row.version) for row in spark.read.parquet(str(folder / "out" / "matches")).collect()]


def test_every_file_is_matched_once_over_several_runs(spark, folders):
    write_file(folders, 1)
    first = stream(spark, folders).run(once=True)
    assert (first.batches, first.records, first.matches) == (2, 20, 10)
    assert stream(spark, folders).run(once=True).records == 0
    write_file(folders, 2)
    assert stream(spark, folders).run(once=True).records == 10
    found = Counter((file, x) for file, x, _ in rows(spark, folders))
    assert found == Counter({(file, x): 1 for file in range(3) for x in range(5)})


def test_new_table_matches_later_batches_and_rows_have_its_version(spark, folders):
    [old] = stream(spark, folders).run(once=True).versions
    save_table(folders, LARGE)
    write_file(folders, 1)
    [new] = stream(spark, folders).run(once=True).versions
    assert old != new
    assert sorted(rows(spark, folders)) == sorted([(0, x, old) for x in range(5)] + [(1, x, new) for x in range(5, 10)])


def test_table_may_change_between_batches_of_one_run(spark, folders):
    write_file(folders, 1)
    matching = stream(spark, folders)
    matching._report = lambda report: save_table(folders, LARGE) if report.batch == 0 else None
    summary = matching.run(once=True)
    assert len(summary.versions) == 2
    by_version = {version: {x for _, x, of in rows(spark, folders) if of == version} for version in summary.versions}
    assert [*by_version.values()] == [{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}]


@pytest.mark.parametrize("dies", ["before its folder appears", "after it has written"])
def test_replayed_batch_uses_its_first_table_version(spark, folders, monkeypatch, dies):
    """The stream dies in batch 0, and the table is exchanged before it is started again."""
    publish = match_stream.publish

    def failing(spark, out, draft):
        if dies == "after it has written":
            publish(spark, out, draft)
        raise CbnetError("died")

    monkeypatch.setattr(match_stream, "publish", failing)
    with pytest.raises(CbnetError, match="died"):
        stream(spark, folders).run(once=True)
    monkeypatch.setattr(match_stream, "publish", publish)
    save_table(folders, LARGE)
    write_file(folders, 1)
    summary = stream(spark, folders).run(once=True)
    old, new = summary.versions
    assert sorted(rows(spark, folders)) == sorted([(0, x, old) for x in range(5)] + [(1, x, new) for x in range(5, 10)])


def test_damaged_table_is_skipped(spark, folders):
    remarks = []
    pinned = TableVersions(folders / "table.cbt", str(folders / "pins"), remarks.append)
    [first] = pinned.of_batch(spark, 0)
    whole = (folders / "table.cbt").read_bytes()
    (folders / "table.cbt").unlink()
    assert pinned.of_batch(spark, 1) == [first]
    (folders / "table.cbt").write_bytes(whole[:1000])
    assert pinned.of_batch(spark, 2) == [first]
    assert len(remarks) == 2
    assert all("using the previous table" in remark for remark in remarks)
    save_table(folders, LARGE)
    assert pinned.of_batch(spark, 3) != [first]
    assert pinned.of_batch(spark, 1) == [first]
    with pytest.raises(InputError, match="cannot read"):
        TableVersions(folders / "no.cbt", str(folders / "none")).of_batch(spark, 0)


def test_unused_versions_are_deleted(spark, folders, monkeypatch):
    monkeypatch.setattr("cbnet.pipeline.match.table_versions._KEPT_BATCHES", 2)
    pinned = TableVersions([folders / "table.cbt"], str(folders / "pins"))
    for batch in range(6):
        save_table(folders, f"x < {batch}")
        pinned.of_batch(spark, batch)
    assert len([*(folders / "pins" / "tables").glob("[!.]*.cbt")]) == 3
    assert sorted(path.stem for path in (folders / "pins" / "versions").glob("[!.]*.json")) == ["3", "4", "5"]


def test_two_streams_cannot_share_an_output_folder(spark, folders):
    stream(spark, folders).run(once=True)
    other = MatchStream(spark, stream(spark, folders)._job, str(folders / "out"), checkpoint=str(folders / "other"))
    with pytest.raises(InputError, match="belongs to another stream"):
        other.run(once=True)
    (folders / "full").mkdir()
    (folders / "full" / "mine.txt").write_text("")
    third = MatchStream(spark, stream(spark, folders)._job, str(folders / "full"))
    with pytest.raises(InputError, match=r"the output folder contains 'mine\.txt'"):
        third.run(once=True)


def test_stream_keeps_the_schema_of_its_first_start(spark, folders):
    stream(spark, folders).run(once=True)
    with pytest.raises(InputError, match="started with another schema"):
        stream(spark, folders, schema="x double").run(once=True)


def test_malformed_lines_are_counted_and_dry_run_maps_columns(spark, folders):
    (folders / "in" / "bad.json").write_text('{"file": 9, "x": 1}\n{"file": 9,\n')
    mapping = {each.name: each.is_used for each in stream(spark, folders).dry_run().attributes}
    assert mapping == {"file": False, "x": True}
    assert not (folders / "out").exists()
    summary = stream(spark, folders).run(once=True)
    assert summary.rejected == {"expected a name in double quotes": 1}
    assert summary.records == 12
    [letter] = spark.read.parquet(str(folders / "out" / "rejected")).collect()
    assert (letter["_line"], letter["_error"]) == ('{"file": 9,', "expected a name in double quotes")
    assert letter["_place"] == f"{folders}/in/bad.json:2:12"


def test_stream_may_fail_or_drop_rows_that_are_not_messages(spark, folders):
    (folders / "in" / "bad.json").write_text('{"file": 9,\n')
    with pytest.raises(CbnetError, match="expected a name in double quotes"):
        stream(spark, folders, on_error="fail").run(once=True)
    assert stream(spark, folders, on_error="drop").run(once=True).rejected == {"expected a name in double quotes": 1}
    assert not (folders / "out" / "rejected").exists()


def test_compaction_keeps_every_match_and_few_folders(spark, folders):
    for number in range(1, 6):
        write_file(folders, number)
    expected = sorted((file, x) for file in range(6) for x in range(5))
    assert stream(spark, folders, compact=3).run(once=True).batches == 6
    assert batches(folders) == [2, 3, 4, 5]
    assert read_by_all(spark, folders) == expected
    assert compact_batches(spark, str(folders / "out"), 5) == 2
    assert batches(folders) == [2, 4, 5]
    assert read_by_all(spark, folders) == expected
    assert compact_batches(spark, str(folders / "out"), 5) == 0
    with pytest.raises(InputError, match="the stream was started with 2 buckets"):
        MatchStream(spark, replace(stream(spark, folders)._job, buckets=0), str(folders / "out")).run(once=True)


def batches(folder):
    return sorted(int(path.name.removeprefix("batch=")) for path in (folder / "out" / "matches").iterdir())


def read_by_all(spark, folder):
    """Return the rows that every tool reads, in order; None if it is an error for each."""
    top = folder / "out" / "matches"
    if not top.exists():
        return None
    found = [
        [(row.file, row.x) for row in spark.read.parquet(str(top)).collect()],
        [(row["file"], row["x"]) for row in pq.read_table(top).to_pylist()],
        pl.read_parquet(top / "**" / "*.parquet").select("file", "x").rows(),
        duckdb.connect().execute(f"select file, x from '{top}/**/*.parquet'").fetchall(),
    ]
    assert len({str(sorted(rows)) for rows in found}) == 1
    return sorted(found[0])


@pytest.mark.parametrize("step", range(4))
def test_crash_during_compaction_loses_and_repeats_nothing(spark, folders, monkeypatch, step):
    """At each rename: the matches are there, or hidden until the next start."""
    write_file(folders, 1)
    stream(spark, folders).run(once=True)
    renames, expected = [], sorted((file, x) for file in range(2) for x in range(5))

    def rename(spark, source, target, kind=stored_matches.rename):
        if len(renames) == step:
            raise CbnetError("died")
        renames.append(target)
        kind(spark, source, target)

    with monkeypatch.context() as patch:
        patch.setattr(stored_matches, "rename", rename)
        with pytest.raises(CbnetError):
            compact_batches(spark, str(folders / "out"), 2)
    assert read_by_all(spark, folders) == (None if step else expected)
    stream(spark, folders).run(once=True)
    assert read_by_all(spark, folders) == expected
    assert batches(folders) == ([0, 1] if step < 2 else [1])


def test_versions_in_a_batch_function_of_the_user_survive_a_replay(spark, folders):
    """The sink is any: here a dict by batch. Batch 0 fails after the table was read, and is matched again."""
    versions = TableVersions(folders / "table.cbt", str(folders / "state"))
    sink, attempts = {}, []

    def write(batch_rows, batch):
        attempts.append(batch)
        matched = versions.match(batch_rows, batch, key=["file", "x"])
        sink[batch] = [(row.file, row.x, row.rule, row.version) for row in matched.collect()]
        if len(attempts) == 1:
            raise CbnetError("died")

    def run():
        source = spark.readStream.schema("file int, x int").option("maxFilesPerTrigger", 1).json(str(folders / "in"))
        query = source.writeStream.foreachBatch(write).option("checkpointLocation", str(folders / "check"))
        started = query.trigger(availableNow=True).start()
        started.awaitTermination()

    with pytest.raises(StreamingQueryException):
        run()
    save_table(folders, LARGE)
    write_file(folders, 1)
    run()
    assert attempts == [0, 0, 1]
    assert [[row[:3] for row in sorted(sink[batch])] for batch in (0, 1)] == [
        [(0, x, "it") for x in range(5)],
        [(1, x, "it") for x in range(5, 10)],
    ]
    assert len({version for batch in sink.values() for *_, version in batch}) == 2


def test_a_stream_warns_of_rules_that_do_not_fit_the_columns_and_strictly_fails(spark, folders):
    save_table(folders, "X < 5")
    remarks = []
    matching = MatchStream(spark, stream(spark, folders)._job, str(folders / "out"), remark=remarks.append)
    matching.run(once=True)
    warning = "1 of 1 rules does not fit the columns:\n  rule it: no column 'X'; did you mean 'x'?"
    assert remarks == [f"warning: {warning}"]
    strict = replace(stream(spark, folders)._job, strict=True)
    with pytest.raises(InputError, match="rule it: no column 'X'"):
        MatchStream(spark, strict, str(folders / "strict")).run(once=True)
    assert MatchStream(spark, stream(spark, folders)._job, "").dry_run().warning == warning
    with pytest.raises(InputError, match="rule it: no column 'X'"):
        MatchStream(spark, strict, "").dry_run()


def test_error_without_the_kafka_package_names_it(spark, folders):
    job = StreamJob(messages="", format="kafka", tables=[str(folders / "table.cbt")], schema="x int")
    with pytest.raises(InputError, match=rf"cannot read from Kafka.*spark\.jars\.packages.*:{spark.version} and"):
        MatchStream(spark, job, str(folders / "out")).run(once=True)
    job = StreamJob(messages="", format="kafka", tables=[str(folders / "table.cbt")])
    with pytest.raises(InputError, match="needs a schema"):
        MatchStream(spark, job, str(folders / "out")).run(once=True)


START_LATE = """
import os, pathlib, sys, time
if "pyspark.sql.streaming.python_streaming_source_runner" in sys.orig_argv:
    try:
        pathlib.Path({late!r}).unlink()
    except FileNotFoundError:
        pass
    else:
        time.sleep(11)
        os._exit(0)
"""


def test_messages_of_a_live_network_are_matched_although_a_process_of_spark_starts_late(spark, folders, monkeypatch):
    """What is taken, lost and does not fit is told at the end; what the predicate does not ask for never comes."""
    remarks, late = [], folders / "late"
    late.touch()
    (folders / "sitecustomize.py").write_text(START_LATE.format(late=str(late)))
    monkeypatch.setitem(spark.sparkContext.environment, "PYTHONPATH", str(folders))
    with ProcessNetwork([Settings("a")], []) as network, ThreadPoolExecutor() as pool:
        router = str(network.addresses["a"])
        job = StreamJob(
            messages="",
            format="cbnet",
            tables=[str(folders / "table.cbt")],
            schema="x int, file int",
            options={"router": router, "predicate": "x < 8"},
        )
        running = pool.submit(MatchStream(spark, job, str(folders / "out"), remark=remarks.append).run)
        try:
            with connect(router) as client:
                wait_until(lambda: client.status().subscriptions or running.done())
                for x in range(10):
                    client.publish({"x": x, "file": x * 10})
                client.publish({"x": 0, "file": "none"})
                client.flush()
            wait_until(lambda: len(whole_rows(folders)) == 6 or running.done())
        finally:
            for query in spark.streams.active:
                query.stop()
        summary = running.result()
    assert (summary.records, summary.matches) == (9, 6)
    assert summary.source == {"taken": 9, "lost": 0, "misfits": 1}
    assert remarks[0] == "a process of Spark took more than 10 s to start: the stream is started once more"
    assert sorted(whole_rows(folders)) == [(0, -1), *((x, x * 10) for x in range(5))]


def whole_rows(folder):
    top = folder / "out" / "matches"
    found = pl.read_parquet(top / "**" / "*.parquet").select("x", "file").rows() if top.exists() else []
    return [(x, -1 if file is None else file) for x, file in found]


def wait_until(is_so):
    deadline = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.2)
