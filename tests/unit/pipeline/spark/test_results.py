import json
from types import SimpleNamespace

import pytest

from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.match.stored_matches import read_rule
from cbnet.pipeline.spark import results
from cbnet.pipeline.spark.lock import LOCK
from cbnet.pipeline.spark.results import StoredFile, StoredFiles, clean_up, publish_together, writing

NAMES = ("matches", "counts", "rejected")


def write(folder, text):
    folder.mkdir(parents=True)
    (folder / "part-0").write_text(text)
    (folder / "_cbnet.json").write_text("{}")


def contents(out):
    """Return the texts of all files of results, without manifests."""
    return {str(file.relative_to(out)): file.read_text() for file in out.rglob("part-*")}


def drafts(out, names):
    return {
        name: SimpleNamespace(stored=SimpleNamespace(folder=f"{out}/_new/{name}")) if name in names else None
        for name in NAMES
    }


@pytest.mark.parametrize("killed_at", range(1, 11))
def test_replacement_of_several_results_is_completed_by_the_next_run(tmp_path, monkeypatch, killed_at):
    """Two manifests, five renames, and the deletes of the old manifest, of _old and of _new."""
    for name in NAMES:
        write(tmp_path / name, "old")
    (tmp_path / "_cbnet.json").write_text('{"summary": "old"}')
    for name in NAMES[:2]:
        write(tmp_path / "_new" / name, "new")
    done = []

    def counted(operation):
        def run(*arguments):
            done.append(operation)
            if len(done) == killed_at:
                raise MemoryError
            operation(*arguments)

        return run

    with monkeypatch.context() as patched:
        for name in ("rename", "delete", "write_manifest"):
            patched.setattr(results, name, counted(getattr(results, name)))
        with pytest.raises(MemoryError):
            publish_together(None, str(tmp_path), drafts(tmp_path, NAMES[:2]), {"summary": "new"})
    clean_up(None, str(tmp_path))
    age = "old" if killed_at == 1 else "new"  # before it is known that the drafts are complete, or after
    kept = NAMES if age == "old" else NAMES[:2]
    assert contents(tmp_path) == {f"{name}/part-0": age for name in kept}
    members = {"summary": "old"} if age == "old" else {"summary": "new", "folders": {name: name for name in kept}}
    assert json.loads((tmp_path / "_cbnet.json").read_text()) == members
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kept, "_cbnet.json"])


def test_folders_without_a_manifest_are_put_back(tmp_path):
    """Spark Connect writes none."""
    write(tmp_path / "_old" / "counts", "old")
    (tmp_path / "_old" / "counts" / "_cbnet.json").unlink()
    write(tmp_path / "_old" / "trees" / "5", "old")
    (tmp_path / "_old" / "empty").mkdir()
    clean_up(None, str(tmp_path))
    assert contents(tmp_path) == {"counts/part-0": "old", "trees/5/part-0": "old"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counts", "trees"]


def test_run_that_has_lost_its_lock_changes_nothing(tmp_path):
    with writing(None, str(tmp_path)) as check:
        check()
        (tmp_path / LOCK).write_text("{}")  # of its successor
        write(tmp_path / "_new" / "matches", "of the successor")
        with pytest.raises(CbnetError, match="another run has taken over the lock"):
            check()
    assert contents(tmp_path) == {"_new/matches/part-0": "of the successor"}


def test_rows_are_counted_by_file_whatever_the_folders_above_are_called():
    paths = [f"hdfs://host/matches/out/_new/matches/bucket={number}/part-0.parquet" for number in range(2)]
    rows = [(path, 5) for path in paths]
    frame = SimpleNamespace(groupBy=lambda _: SimpleNamespace(count=lambda: SimpleNamespace(collect=lambda: rows)))
    files = [StoredFile(f"bucket={number}/part-0.parquet", 9) for number in range(2)]
    stored = StoredFiles("hdfs://host/matches/out/_new/matches", files, {})
    counts = results._row_counts(None, SimpleNamespace(files=stored.files, folder=stored.folder, frame=lambda _: frame))
    assert counts == {file.name: 5 for file in files}


def test_stream_without_a_batch_has_no_matches(tmp_path):
    (tmp_path / "matches").mkdir()
    (tmp_path / "_cbnet.json").write_text('{"buckets": 4}')
    with pytest.raises(InputError, match="there are no complete matches"):
        read_rule(None, str(tmp_path), "a")
