import pytest
from support.pipeline_runs import CONFIG, STAGES

from cbnet.pipeline.run.configuration import read_config
from cbnet.pipeline.run.runner import run


@pytest.fixture(scope="session")
def reference(spark, tmp_path_factory):
    """The folder of an undisturbed run of the configuration, in the shared session."""
    folder = tmp_path_factory.mktemp("reference")
    (folder / "run.toml").write_text(CONFIG)
    config = read_config(folder / "run.toml")
    assert [outcome.name for outcome in run(config, lambda: spark)] == STAGES
    return config.out
