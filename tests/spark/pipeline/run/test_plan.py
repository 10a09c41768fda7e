import os

import pytest

from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.run.plan import files_fingerprint


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    for name, text in {"a.tsv": "1", "b.tsv": "2", "_SUCCESS": ""}.items():
        (tmp_path / "in" / name).write_text(text)
        os.utime(tmp_path / "in" / name, (1000, 1000))
    return tmp_path / "in"


def test_fingerprint_changes_with_a_file(folder):
    whole, pattern = str(folder), str(folder / "*.tsv")
    before = files_fingerprint([whole]), files_fingerprint([pattern])
    assert before == (files_fingerprint([whole]), files_fingerprint([pattern]))
    (folder / "_SUCCESS").write_text("not read")
    assert before == (files_fingerprint([whole]), files_fingerprint([pattern]))
    (folder / "b.tsv").write_text("22")
    assert files_fingerprint([whole]) != before[0]
    assert files_fingerprint([pattern]) != before[1]


def test_times_and_names_count_and_locations_do_not(folder, tmp_path):
    before = files_fingerprint([str(folder / "a.tsv")])
    (tmp_path / "there").mkdir()
    moved = (folder / "a.tsv").rename(tmp_path / "there" / "a.tsv")
    assert files_fingerprint([str(moved)]) == before
    os.utime(moved, (2000, 2000))
    assert files_fingerprint([str(moved)]) != before
    os.utime(moved, (1000, 1000))
    assert files_fingerprint([str(moved.rename(moved.with_name("c.tsv")))]) != before


def test_files_read_through_spark_have_fingerprints(spark, folder, remote):
    for path in (f"{remote}/in/*.tsv", f"{remote}/in", f"{remote}/in/a.tsv"):
        local = path.replace(remote, str(folder.parent))
        assert files_fingerprint([path], spark) == files_fingerprint([local]) == files_fingerprint([f"file://{local}"])
    pattern = f"{remote}/in/*.tsv"
    before = files_fingerprint([pattern], spark)
    (folder / "b.tsv").write_text("22")
    assert files_fingerprint([pattern], spark) != before
    with pytest.raises(InputError, match="no file matches"):
        files_fingerprint([f"{remote}/in/*.csv"], spark)
    with pytest.raises(CbnetError, match="only Spark can read"):
        files_fingerprint([pattern])


def test_missing_file_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no file matches"):
        files_fingerprint([str(tmp_path / "*.tsv")])
