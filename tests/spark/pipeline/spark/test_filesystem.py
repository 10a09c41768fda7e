import pytest

from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.spark import filesystem as fs


@pytest.fixture(params=[True, False])
def top(request, remote, tmp_path):
    """A folder by URI: one that Python reads, and those that only Hadoop reads."""
    return tmp_path.as_uri() if request.param else remote


@pytest.mark.parametrize(
    ("path", "scheme", "uri"),
    [
        ("/data/a", None, "file:///data/a"),
        ("s3a://bucket/a", "s3a", "s3a://bucket/a"),
        ("file:/data/a", "file", "file:/data/a"),
        ("HDFS://host/a", "hdfs", "HDFS://host/a"),
        ("/a:/b", None, "file:///a:/b"),
    ],
)
def test_plain_paths_are_local(path, scheme, uri):
    assert (fs.scheme_of(path), fs.spark_path(path)) == (scheme, uri)
    assert fs.needs_session(path) == (scheme in ("s3a", "hdfs"))


def test_file_is_written_read_and_replaced(spark, top):
    path = f"{top}/in/a.txt"
    assert fs.read_text(spark, path) is None
    fs.write_text(spark, path, "one ä")
    assert fs.read_text(spark, path) == "one ä"
    fs.write_text(spark, path, "two")
    assert fs.read_text(spark, path) == "two"
    assert [name for name in fs.list_names(spark, f"{top}/in") if not name.endswith(".crc")] == ["a.txt"]


def test_file_is_created_once(spark, top):
    assert fs.create_text(spark, f"{top}/in/lock", "first")
    assert not fs.create_text(spark, f"{top}/in/lock", "second")
    assert fs.read_text(spark, f"{top}/in/lock") == "first"


def test_files_are_listed_below_a_folder(spark, top):
    assert (fs.list_files(spark, f"{top}/none"), fs.list_names(spark, f"{top}/none")) == ({}, [])
    for name in ("b", "k=1/a b", "_SUCCESS", ".b.crc", "_temporary/c"):
        fs.write_text(spark, f"{top}/in/{name}", "x" * len(name))
    assert fs.list_files(spark, f"{top}/in") == {"b": 1, "k=1/a b": 7}
    assert (fs.list_files(spark, f"{top}/in/b"), fs.list_names(spark, f"{top}/in/b")) == ({"": 1}, [])
    assert fs.exists(spark, f"{top}/in/k=1")
    fs.delete(spark, f"{top}/in/k=1")
    fs.delete(spark, f"{top}/in/none")
    assert fs.list_files(spark, f"{top}/in") == {"b": 1}


def test_files_are_copied_both_ways(spark, top, tmp_path):
    (tmp_path / "here").write_bytes(b"\x00\xff")
    fs.upload(spark, tmp_path / "here", f"{top}/there")
    fs.upload(spark, tmp_path / "here", f"{top}/there")  # again, over the old one
    fs.download(spark, f"{top}/there", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b"\x00\xff"
    assert fs.fetch(spark, f"{top}/there").read_bytes() == b"\x00\xff"
    assert fs.fetch(spark, f"{top}/there").name == "there"
    fs.write_text(spark, f"{top}/there", "longer")
    assert fs.fetch(spark, f"{top}/there").read_text() == "longer"


def test_remote_files_need_a_session_and_must_exist(spark, remote, tmp_path):
    with pytest.raises(CbnetError, match="only Spark can read this path"):
        fs.read_text(None, f"{remote}/a")
    with pytest.raises(InputError, match="there is no such file"):
        fs.fetch(spark, f"{remote}/a")
    assert fs.fetch(None, str(tmp_path / "none")) == tmp_path / "none"  # its reader reports the error
