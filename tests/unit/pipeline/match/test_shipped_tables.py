import pytest

from cbnet import Table
from cbnet.errors import InputError
from cbnet.pipeline.match.shipped_tables import store_table


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "stored").mkdir()
    Table.build({"one": "x = 1"}).save(tmp_path / "one.cbt")
    Table.build({"two": "x = 2"}).save(tmp_path / "two.cbt")
    return tmp_path


def test_stored_version_does_not_change_with_its_original(folder):
    """As by `cp two.cbt one.cbt`, which writes to the same file."""
    before = (folder / "one.cbt").read_bytes()
    stored = store_table(folder / "one.cbt", folder / "stored")
    (folder / "one.cbt").write_bytes((folder / "two.cbt").read_bytes())
    assert stored.read_bytes() == before
    assert store_table(folder / "one.cbt", folder / "stored") != stored


def test_equal_tables_are_stored_once(folder):
    stored = {store_table(table, folder / "stored") for table in (folder / "one.cbt", str(folder / "one.cbt"))}
    assert stored == {*(folder / "stored").iterdir()}


def test_damaged_or_missing_table_is_not_stored(folder):
    (folder / "one.cbt").write_bytes((folder / "one.cbt").read_bytes()[:-100])
    for name in ("one.cbt", "three.cbt"):
        with pytest.raises(InputError, match=name):
            store_table(folder / name, folder / "stored")
    assert not [*(folder / "stored").iterdir()]
