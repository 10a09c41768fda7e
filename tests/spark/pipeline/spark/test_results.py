import json
import shutil
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

import cbnet
from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.spark import results
from cbnet.pipeline.spark.filesystem import list_files
from cbnet.pipeline.spark.results import (
    MANIFEST,
    Provenance,
    clean_up,
    damage,
    draft_result,
    publish,
    publish_together,
    read_result,
    write_result,
)

PROVENANCE = Provenance("fib", {"router": 7}, {"population": "ab" * 32})


@pytest.fixture
def numbers(frame):
    return frame([(1,), (2,), (3,)], "x int")


def values(result, spark):
    return sorted(row.x for row in result.frame(spark).collect())


def parts(result):
    return sorted(Path(result.stored.folder).glob("part-*"))


def test_manifest_describes_the_result_and_its_files(spark, numbers, tmp_path):
    out = str(tmp_path)
    written = write_result(
        spark, numbers, out, "fib", PROVENANCE, cost=lambda: {"tasks": 2}, facts=lambda _: {"a": 1}, files=["b"]
    )
    manifest = json.loads(Path(written.stored.folder, MANIFEST).read_text())
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
    assert sorted(path.name for path in tmp_path.iterdir()) == ["_new", "fib"]
    assert (tmp_path / "fib" / "_SUCCESS").exists()
    assert read_result(None, f"{out}/fib") == written
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


def read_by_all(spark, folder):
    """Return the numbers that each tool reads."""
    pattern = f"{folder}/**/*.parquet"
    readers = {
        "spark": lambda: [row.x for row in spark.read.parquet(str(folder)).collect()],
        "read_table": lambda: pq.read_table(folder)["x"].to_pylist(),
        "dataset": lambda: ds.dataset(folder).to_table()["x"].to_pylist(),
        "polars": lambda: pl.read_parquet(pattern)["x"].to_list(),
        "duckdb": lambda: [x for (x,) in duckdb.connect().execute(f"select x from '{pattern}'").fetchall()],
    }
    found = {}
    for tool, reader in readers.items():
        try:
            found[tool] = sorted(reader())
        except (OSError, PySparkException, pl.exceptions.PolarsError, duckdb.Error):
            found[tool] = "error"
    assert len({*map(str, found.values())}) == 1, found
    return found["spark"]


@pytest.mark.parametrize("partition_by", [[], ["tree"]])
def test_every_tool_reads_the_rows_of_the_last_complete_result(spark, frame, tmp_path, monkeypatch, partition_by):
    """Before, during and after a rewrite, and after runs that were killed at each step of it."""
    folder, renames = tmp_path / "trees" / "5", []

    def draft(*numbers):
        rows = frame([(x, x % 2) for x in numbers], "x int, tree int")
        return draft_result(spark, rows, str(tmp_path), "trees/5", PROVENANCE, partition_by=partition_by)

    def rename(spark, source, target, kind=results.rename):
        renames.append(source)
        if len(renames) == 2:
            raise MemoryError
        kind(spark, source, target)

    assert read_by_all(spark, folder) == "error"
    publish(spark, str(tmp_path), draft(1, 2, 3))
    new = draft(4)
    assert read_by_all(spark, folder) == [1, 2, 3]
    clean_up(spark, str(tmp_path))  # of the next run: this one was killed
    assert not Path(new.stored.folder).exists()
    new = draft(5)
    with monkeypatch.context() as patched:
        patched.setattr(results, "rename", rename)
        with pytest.raises(MemoryError):
            publish(spark, str(tmp_path), new)  # the old rows are moved away, the new ones are not there
    assert read_by_all(spark, folder) == "error"
    clean_up(spark, str(tmp_path))
    assert read_by_all(spark, folder) == [1, 2, 3]
    reading = read_result(spark, str(folder)).frame(spark)
    publish(spark, str(tmp_path), draft(*range(6, 9)))
    with pytest.raises(Exception, match="FILE_NOT_EXIST"):
        reading.collect()  # the files that it had listed
    assert read_by_all(spark, folder) == [6, 7, 8]
    publish(spark, str(tmp_path), draft())
    assert read_by_all(spark, folder) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["_new", "_old", "trees"]


def test_every_tool_reads_old_or_new_rows_of_a_job_that_is_killed_in_between(spark, frame, tmp_path, monkeypatch):
    out, names = tmp_path / "job", ("matches", "counts")

    def drafts(*numbers):
        rows = frame([(x, x % 2) for x in numbers], "x int, tree int")
        columns = ([], ["tree"])
        return {
            name: draft_result(spark, rows, str(out), name, PROVENANCE, partition_by=by)
            for name, by in zip(names, columns, strict=True)
        }

    publish_together(spark, str(out), drafts(1, 2), {})
    with monkeypatch.context() as patched:
        patched.setattr(results, "_complete", lambda *_: None)
        publish_together(spark, str(out), drafts(3), {})
    read = []
    for killed_at in range(4):  # renames: the old and the new one of each folder
        folder, renames = tmp_path / str(killed_at), []
        shutil.copytree(out, folder)

        def rename(spark, source, target, kind=results.rename, *, killed_at=killed_at, renames=renames):
            if len(renames) == killed_at:
                raise MemoryError
            renames.append(source)
            kind(spark, source, target)

        with monkeypatch.context() as patched:
            patched.setattr(results, "rename", rename)
            with pytest.raises(MemoryError):
                clean_up(spark, str(folder))
        read.append([read_by_all(spark, folder / name) for name in names])
        clean_up(spark, str(folder))
        assert [pq.read_table(folder / name)["x"].to_pylist() for name in names] == [[3], [3]]
    assert read == [[[1, 2], [1, 2]], ["error", [1, 2]], [[3], [1, 2]], [[3], "error"]]


def test_rows_that_are_lost_before_the_manifest_is_written_are_noticed(spark, numbers, tmp_path, monkeypatch):
    """As when a file system does not list a file that a task has just written."""
    out = str(tmp_path)
    old = write_result(spark, numbers, out, "fib", PROVENANCE)

    def list_all_but_one(spark, folder):
        (first, size), *_ = list_files(spark, folder).items()
        return {first: size}

    monkeypatch.setattr("cbnet.pipeline.spark.results.list_files", list_all_but_one)
    with pytest.raises(CbnetError, match=r"3 rows were written, but the files there have [12]; run it again"):
        write_result(spark, numbers, out, "fib", PROVENANCE)
    assert read_result(spark, f"{out}/fib") == old


def test_warning_when_the_rows_written_are_not_counted(spark, numbers, tmp_path, monkeypatch):
    monkeypatch.setattr("cbnet.pipeline.spark.results.observed", lambda *_: {})
    with pytest.warns(UserWarning, match="has not counted the rows written"):
        written = write_result(spark, numbers, str(tmp_path), "fib", PROVENANCE)
    assert written.rows == 3


def test_failed_write_leaves_the_old_result(spark, frame, numbers, tmp_path):
    out = str(tmp_path)
    old = write_result(spark, numbers, out, "fib", PROVENANCE)
    bad = frame([(0,)], "x int").selectExpr("1 / x AS x")  # an error, as ANSI SQL says
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        write_result(spark, bad, out, "fib", PROVENANCE)
    assert read_result(spark, f"{out}/fib") == old
    assert values(old, spark) == [1, 2, 3]


def test_error_after_the_rows_are_written_leaves_the_old_result(spark, frame, numbers, tmp_path):
    def crash(_):
        raise MemoryError

    out = str(tmp_path)
    old = write_result(spark, numbers, out, "fib", PROVENANCE)
    with pytest.raises(MemoryError):
        write_result(spark, frame([(9,)], "x int"), out, "fib", PROVENANCE, facts=crash)
    assert read_result(spark, f"{out}/fib") == old
    assert damage(None, old) is None
    assert values(old, spark) == [1, 2, 3]


def test_lost_and_changed_files_are_noticed(spark, numbers, tmp_path):
    written = write_result(spark, numbers, str(tmp_path), "fib", PROVENANCE)
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


def test_files_that_the_manifest_does_not_name_are_noticed(spark, numbers, tmp_path):
    written = write_result(spark, numbers, str(tmp_path), "fib", PROVENANCE)
    copy = parts(written)[0]
    copy.with_name("part-copy.parquet").write_bytes(copy.read_bytes())
    assert damage(None, written) == "part-copy.parquet is not a file of this result"


def test_folder_may_have_any_name(spark, numbers, tmp_path):
    out = str(tmp_path / "a [1] {b} 50%25")
    write_result(spark, numbers, out, "fib", PROVENANCE)
    assert values(read_result(spark, f"{out}/fib"), spark) == [1, 2, 3]
    again = write_result(spark, numbers, f"file://{out}", "fib", PROVENANCE)
    assert values(again, spark) == [1, 2, 3]


def test_remote_result_is_written_checked_and_read_by_uri(spark, numbers, remote, tmp_path):
    out, local = f"{remote}/a %20b", tmp_path / "a %20b" / "fib"
    write_result(spark, numbers, out, "fib", PROVENANCE)
    written = write_result(spark, numbers, out, "fib", PROVENANCE)
    assert read_result(spark, f"{out}/fib") == written
    assert values(written, spark) == [1, 2, 3]
    assert sum(file.rows for file in written.stored.files) == written.rows == 3
    assert damage(spark, written) is None
    runs = [path.name for path in local.glob("run-*")]  # in an object store
    assert runs == ([] if remote.startswith("viewfs") else [written.stored.folder.rpartition("/")[2]])
    next((local / (runs or [""])[0]).glob("part-00001*")).unlink()
    assert damage(spark, written).startswith("1 of 2 files missing: part-00001")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"stage": "fib"}', "\x00\xff"])
def test_damaged_manifest_is_refused(tmp_path, text):
    (tmp_path / MANIFEST).write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match="this is not the manifest of a result"):
        read_result(None, str(tmp_path))
