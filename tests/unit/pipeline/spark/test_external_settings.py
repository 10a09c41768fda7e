import pytest

from cbnet.pipeline.spark.external_settings import ExternalSettings, external_settings


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "spark-defaults.conf").write_text(
        "# spark.master yarn\n! a comment\n\nspark.master   spark://defaults:7077  \nspark.a=b=c\nspark.b : d e\n"
    )
    return tmp_path


def test_nothing_is_stated_by_an_empty_environment(tmp_path):
    assert external_settings({"SPARK_HOME": str(tmp_path)}) == []


def test_defaults_are_those_of_the_configuration_folder(folder):
    settings = {"spark.master": "spark://defaults:7077", "spark.a": "b=c", "spark.b": "d e"}
    expected = [ExternalSettings(str(folder / "spark-defaults.conf"), settings)]
    assert external_settings({"SPARK_CONF_DIR": str(folder)}) == expected
    (folder / "conf").mkdir()
    (folder / "spark-defaults.conf").rename(folder / "conf" / "spark-defaults.conf")
    [found] = external_settings({"SPARK_HOME": str(folder)})
    assert found.settings == settings


def test_arguments_are_stronger_than_defaults_and_these_than_a_master(folder):
    arguments = "--master local[3] -c spark.a=1 --conf=spark.b=2 --driver-memory=2g --name x pyspark-shell"
    environment = {"PYSPARK_SUBMIT_ARGS": arguments, "SPARK_CONF_DIR": str(folder), "MASTER": "yarn"}
    given = {"spark.master": "local[3]", "spark.a": "1", "spark.b": "2", "spark.driver.memory": "2g"}
    found = external_settings({**environment, "SPARK_REMOTE": "sc://host"})
    assert [each.settings for each in found if each.origin != str(folder / "spark-defaults.conf")] == [
        {"spark.remote": "sc://host"},
        given,
        {"spark.master": "yarn"},
    ]
    assert [each.origin for each in found] == [
        "SPARK_REMOTE",
        "PYSPARK_SUBMIT_ARGS",
        str(folder / "spark-defaults.conf"),
        "MASTER",
    ]


def test_a_file_of_properties_replaces_the_defaults(folder, tmp_path):
    (tmp_path / "own.conf").write_text("spark.master local[7]")
    arguments = f"--properties-file {tmp_path / 'own.conf'} pyspark-shell"
    found = external_settings({"PYSPARK_SUBMIT_ARGS": arguments, "SPARK_CONF_DIR": str(folder)})
    assert found == [ExternalSettings(str(tmp_path / "own.conf"), {"spark.master": "local[7]"})]
