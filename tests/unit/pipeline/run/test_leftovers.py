import json

import pytest

from cbnet.errors import CbnetError
from cbnet.pipeline.run.configuration import read_config
from cbnet.pipeline.run.leftovers import clean, leftovers
from cbnet.pipeline.spark.lock import locked


@pytest.fixture
def config(tmp_path):
    (tmp_path / "run.toml").write_text("[folded]\nk = [8]\n")
    return read_config(tmp_path / "run.toml")


@pytest.fixture
def out(tmp_path):
    """A folder with results of stages that the configuration has, and others."""
    top = tmp_path / "run"
    for stage in ("population", "folded/8", "folded/16", "old", "rejected/bookmarks"):
        folder = top / stage
        folder.mkdir(parents=True)
        (folder / "part-0.parquet").write_text("x" * 100)
        manifest = {"stage": stage, "version": 1, "parameters": {}, "inputs": {}, "cost": {}, "facts": {}, "origin": {}}
        manifest |= {
            "run": "",
            "files": [],
            "schema": None,
            "rows": 0,
            "seconds": 0,
            "written": "",
        }
        (folder / "_cbnet.json").write_text(json.dumps(manifest))
    (top / "mine").mkdir()
    (top / "mine" / "_cbnet.json").write_text("{}")  # such as the result of another command
    (top / "notes.txt").write_text("mine")
    return top


@pytest.mark.usefixtures("out")
def test_stages_that_no_longer_belong_are_named(config):
    found = leftovers(config)
    assert found.keys() == {"folded/16", "old", "rejected/bookmarks"}
    assert 100 < found["old"] < 1000  # the rows and the manifest


def test_files_of_a_killed_run_are_named(config, out):
    (out / "_new" / "folded" / "8").mkdir(parents=True)
    (out / "_new" / "folded" / "8" / "part-1.parquet").write_text("y" * 7)
    (out / "population" / "notes.txt").write_text("z")
    assert leftovers(config) == {**leftovers(config), "_new": 7}
    assert not any(name.startswith("population") for name in leftovers(config))


def test_result_that_a_killed_run_was_replacing_is_put_back(config, out):
    (out / "_old").mkdir()
    (out / "population").rename(out / "_old" / "population")
    assert "_old" in leftovers(config)
    clean(config)
    assert (out / "population" / "part-0.parquet").exists()
    assert not (out / "_old").exists()


def test_clean_deletes_leftovers_and_nothing_else(config, out):
    before = leftovers(config)
    assert clean(config) == before
    assert leftovers(config) == clean(config) == {}
    kept = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    of_stages = {
        f"{stage}/{name}" for stage in ("population", "folded/8") for name in ("part-0.parquet", "_cbnet.json")
    }
    assert kept == {"mine/_cbnet.json", "notes.txt"} | of_stages


@pytest.mark.usefixtures("out")
def test_nothing_is_deleted_during_a_run(config):
    with locked(None, config.out), pytest.raises(CbnetError, match="is in use by another run"):
        clean(config)
    assert leftovers(config)


def test_there_may_be_no_folder(config, tmp_path):
    assert leftovers(config) == clean(config) == {}
    assert not (tmp_path / "run").exists()
