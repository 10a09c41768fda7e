import json
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException

import cbnet
from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.spark.filesystem import list_files
from cbnet.pipeline.spark.results import (
    MANIFEST,
    Provenance,
    Snapshot,
    damage,
    read_result,
    superseded,
    write_result,
)

PROVENANCE = Provenance("fib", {"router": 7}, {"population": "ab" * 32})


@pytest.fixture
def numbers(frame):
    return frame([(1,), (2,), (3,)], "x int")


def values(result, spark):
    return sorted(row.x for row in result.frame(spark).collect())


def parts(result):
    return sorted(Path(result.snapshot.folder).glob("part-*"))


def test_manifest_names_the_snapshot_and_its_files(spark, numbers, tmp_path):
    folder = str(tmp_path / "fib")
    written = write_result(
        spark, numbers, folder, PROVENANCE, cost=lambda: {"tasks": 2}, facts=lambda _: {"a": 1}, files=["b"]
    )
    manifest = json.loads(Path(written.snapshot.folder, MANIFEST).read_text())
    assert (manifest["stage"], manifest["parameters"], manifest["inputs"], manifest["version"]) == (
        "fib",
        {"router": 7},
        {"population": "ab" * 32},
        1,
    )
    assert (manifest["rows"], manifest["fingerprint"]) == (3, PROVENANCE.fingerprint)
    assert (manifest["cost"], manifest["facts"]) == ({"tasks": 2}, {"a": 1})
    assert manifest["origin"] == {
        "files": ["b"],
        "cbnet": cbnet.__version__,
        "spark": spark.version,
        "master": "local[2]",
    }
    assert manifest["seconds"] >= 0
    on_disk = {part.name: part.stat().st_size for part in parts(written)}
    assert {file["name"]: file["bytes"] for file in manifest["files"]} == on_disk
    assert sum(file["rows"] for file in manifest["files"]) == 3
    assert manifest["bytes"] == sum(on_disk.values())
    assert (tmp_path / "fib" / manifest["snapshot"]).is_dir()
    assert read_result(None, folder) == written
    assert values(written, spark) == [1, 2, 3]
    assert damage(None, written) is None


def test_every_member_of_the_provenance_counts():
    others = (
        Provenance("fab", PROVENANCE.parameters, PROVENANCE.inputs),
        Provenance("fib", {"router": 8}, PROVENANCE.inputs),
        Provenance("fib", PROVENANCE.parameters, {"population": "cd" * 32}),
        Provenance("fib", PROVENANCE.parameters, PROVENANCE.inputs, 2),
    )
    assert len({PROVENANCE.fingerprint, *(other.fingerprint for other in others)}) == 5


def test_new_result_is_written_beside_the_old_one_which_can_still_be_read(spark, frame, numbers, tmp_path):
    folder = str(tmp_path / "fib")
    old = write_result(spark, numbers, folder, PROVENANCE)
    reading = old.frame(spark)
    new = write_result(spark, frame([(9,)], "x int"), folder, PROVENANCE)
    assert values(read_result(spark, folder), spark) == [9]
    assert sorted(row.x for row in reading.collect()) == [1, 2, 3]
    third = write_result(spark, numbers, folder, PROVENANCE)
    assert sorted(path.name for path in Path(folder).iterdir()) == [
        Path(result.snapshot.folder).name for result in (new, third)
    ]
    assert third.snapshot.folder.startswith(f"{folder}/_snapshot-000003-")


def test_number_of_a_snapshot_decides_and_not_the_clock(spark, numbers, tmp_path):
    folder = str(tmp_path / "fib")
    far = tmp_path / "fib" / "_snapshot-1000000-ffff"
    far.mkdir(parents=True)  # abandoned: it has no manifest
    written = write_result(spark, numbers, folder, PROVENANCE)
    assert Path(written.snapshot.folder).name.startswith("_snapshot-1000001-")
    assert read_result(None, folder) == written
    assert not far.exists()


def test_spark_does_not_read_old_and_new_rows_as_one(spark, numbers, tmp_path):
    for _ in range(2):
        write_result(spark, numbers, str(tmp_path / "fib"), PROVENANCE)
    with pytest.raises(AnalysisException, match="UNABLE_TO_INFER_SCHEMA"):
        spark.read.parquet(str(tmp_path / "fib"))


def test_rows_that_are_lost_before_the_manifest_is_written_are_noticed(spark, numbers, tmp_path, monkeypatch):
    """As when a file system does not list a file that a task has just written."""
    folder = str(tmp_path / "fib")
    old = write_result(spark, numbers, folder, PROVENANCE)

    def list_all_but_one(spark, folder):
        (first, size), *_ = list_files(spark, folder).items()
        return {first: size}

    monkeypatch.setattr("cbnet.pipeline.spark.results.list_files", list_all_but_one)
    with pytest.raises(CbnetError, match=r"3 rows were written, but the files there have [12]; run it again"):
        write_result(spark, numbers, folder, PROVENANCE)
    assert read_result(spark, folder) == old


def test_warning_when_the_rows_written_are_not_counted(spark, numbers, tmp_path, monkeypatch):
    monkeypatch.setattr("cbnet.pipeline.spark.results.observed", lambda *_: {})
    with pytest.warns(UserWarning, match="has not counted the rows written"):
        written = write_result(spark, numbers, str(tmp_path / "fib"), PROVENANCE)
    assert written.rows == 3


def test_failed_write_leaves_the_old_result(spark, frame, numbers, tmp_path):
    folder = str(tmp_path / "fib")
    old = write_result(spark, numbers, folder, PROVENANCE)
    bad = frame([(0,)], "x int").selectExpr("1 / x AS x")  # an error, as ANSI SQL says
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        write_result(spark, bad, folder, PROVENANCE)
    assert read_result(spark, folder) == old
    assert values(old, spark) == [1, 2, 3]


def test_error_between_write_and_switch_leaves_the_old_result(spark, frame, numbers, tmp_path):
    def crash(_: Snapshot):
        raise MemoryError

    folder = str(tmp_path / "fib")
    old = write_result(spark, numbers, folder, PROVENANCE)
    with pytest.raises(MemoryError):
        write_result(spark, frame([(9,)], "x int"), folder, PROVENANCE, facts=crash)
    assert read_result(spark, folder) == old
    assert damage(spark, old) is None
    assert values(old, spark) == [1, 2, 3]
    (leftover,) = superseded(spark, folder)
    assert spark.read.parquet(leftover).count() == 1  # complete, but not switched to
    write_result(spark, numbers, folder, PROVENANCE)
    assert [*superseded(spark, folder)] == []
    assert not Path(leftover).exists()


def test_lost_and_changed_files_are_noticed(spark, numbers, tmp_path):
    written = write_result(spark, numbers, str(tmp_path / "fib"), PROVENANCE)
    first, second = parts(written)
    content = first.read_bytes()
    first.write_bytes(content + b"x")
    assert damage(None, written) == f"{first.name} has {len(content) + 1:,} bytes, not {len(content):,}"
    first.write_bytes(bytes(len(content)))
    assert damage(None, written) == f"{first.name} is not the file that was written"
    first.write_bytes(content)
    assert damage(None, written) is None
    second.unlink()
    assert damage(None, written) == f"1 of 2 files missing: {second.name}"
    first.unlink()
    assert damage(None, written) == f"2 of 2 files missing: {first.name}, …"


def test_files_that_the_manifest_does_not_name_are_not_read(spark, numbers, tmp_path):
    written = write_result(spark, numbers, str(tmp_path / "fib"), PROVENANCE)
    copy = parts(written)[0]
    copy.with_name("part-copy.parquet").write_bytes(copy.read_bytes())
    assert values(written, spark) == [1, 2, 3]


def test_partitioned_and_empty_results_are_read_back(spark, frame, tmp_path):
    rows = [(0, "a"), (0, "b"), (1, "c")]

    def write(content):
        return lambda folder: content.write.partitionBy("tree").parquet(folder) or content.count()

    trees = frame(rows, "tree int, name string")
    written = write_result(spark, write(trees), str(tmp_path / "trees"), PROVENANCE)
    snapshot = Snapshot(written.snapshot.folder, written.snapshot.files, trees.schema.jsonValue())
    assert sorted((row.tree, row.name) for row in snapshot.frame(spark).collect()) == rows
    empty = Snapshot(str(tmp_path / "none"), [], trees.schema.jsonValue()).frame(spark)
    assert (empty.count(), empty.columns) == (0, ["tree", "name"])
    none = write_result(spark, trees.where("tree > 5"), str(tmp_path / "empty"), PROVENANCE)
    assert (none.rows, none.frame(spark).count()) == (0, 0)


def test_folder_may_have_any_name(spark, numbers, tmp_path):
    folder = str(tmp_path / "a [1] {b} 50%25")
    written = write_result(spark, numbers, folder, PROVENANCE)
    assert values(read_result(spark, folder), spark) == [1, 2, 3]
    again = write_result(spark, numbers, f"file://{folder}", PROVENANCE)
    assert values(again, spark) == [1, 2, 3]
    assert Path(again.snapshot.folder).name > Path(written.snapshot.folder).name


def test_remote_result_is_written_checked_and_read_by_uri(spark, numbers, remote, tmp_path):
    folder = f"{remote}/a %20b/fib"
    write_result(spark, numbers, folder, PROVENANCE)
    written = write_result(spark, numbers, folder, PROVENANCE)
    assert read_result(spark, folder) == written
    assert values(written, spark) == [1, 2, 3]
    assert sum(file.rows for file in written.snapshot.files) == written.rows == 3
    assert damage(spark, written) is None
    next((tmp_path / "a %20b" / "fib").glob("_snapshot-000002-*/part-00001*")).unlink()
    assert damage(spark, written).startswith("1 of 2 files missing: part-00001")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"stage": "fib"}', "\x00\xff"])
def test_damaged_manifest_is_refused(tmp_path, text):
    (tmp_path / "_snapshot-000001-00aa").mkdir()
    (tmp_path / "_snapshot-000001-00aa" / MANIFEST).write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match="this is not the manifest of a result"):
        read_result(None, str(tmp_path))
