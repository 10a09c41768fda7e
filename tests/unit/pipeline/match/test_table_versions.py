"""Versions in a local folder, which need no session."""

import pytest

from cbnet import Table
from cbnet.pipeline.match import table_versions
from cbnet.pipeline.match.table_versions import TableVersions


@pytest.fixture
def reads(monkeypatch):
    """The names of the files that are read."""
    names = []
    read = table_versions.read_text
    monkeypatch.setattr(table_versions, "read_text", lambda spark, path: names.append(path) or read(spark, path))
    monkeypatch.setattr(table_versions, "_KEPT_BATCHES", 5)
    return names


def test_batches_with_the_same_table_read_no_other_pins(tmp_path, reads):
    Table.build({"one": "x = 1"}).save(tmp_path / "table.cbt")
    pinned = TableVersions(tmp_path / "table.cbt", tmp_path.as_uri())
    for batch in range(20):
        pinned.of_batch(None, batch)
    assert len(reads) == 20
    assert sorted(int(path.stem) for path in (tmp_path / "versions").glob("*.json")) == [14, 15, 16, 17, 18, 19]


@pytest.mark.usefixtures("reads")
def test_table_is_kept_as_long_as_a_batch_may_be_replayed(tmp_path):
    pinned = TableVersions(tmp_path / "table.cbt", tmp_path.as_uri())
    for batch, constant in enumerate([1, 2, 2, 2, 2, 2, 3, 3, 4]):
        Table.build({"one": f"x = {constant}"}).save(tmp_path / "table.cbt")
        newest = pinned.of_batch(None, batch)
    assert len([*(tmp_path / "tables").glob("*.cbt")]) == 3
    assert [pinned.of_batch(None, batch) == newest for batch in (3, 7, 8)] == [False, False, True]
