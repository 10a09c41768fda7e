import pytest

from cbnet.errors import InputError
from cbnet.pipeline.spark.session_target import (
    ExternalSettings,
    SessionTarget,
    choose_target,
    external_settings,
    requested_target,
)

SUBMITTED = ExternalSettings("spark-submit", {"spark.master": "spark://host:7077"})
REMOTE = ExternalSettings("SPARK_REMOTE", {"spark.remote": "sc://host"})
DEFAULTS = ExternalSettings("spark-defaults.conf", {"spark.master": "yarn"})
OTHERS = ExternalSettings("PYSPARK_SUBMIT_ARGS", {"spark.driver.memory": "1g"})


@pytest.mark.parametrize(
    ("requested", "external", "url", "origin"),
    [
        (None, [], "local[*]", "default"),
        (None, [OTHERS], "local[*]", "default"),
        (None, [OTHERS, DEFAULTS], "yarn", "spark-defaults.conf"),
        (None, [SUBMITTED], "spark://host:7077", "spark-submit"),
        (None, [REMOTE, SUBMITTED], "sc://host", "SPARK_REMOTE"),
        (("local[2]", None), [DEFAULTS], "local[2]", "requested"),
        (("spark://host:7077", None), [SUBMITTED], "spark://host:7077", "requested"),
        ((None, "sc://other"), [REMOTE], "sc://other", "requested"),
        ((None, "sc://other"), [DEFAULTS], "sc://other", "requested"),
    ],
)
def test_requests_come_before_external_settings(requested, external, url, origin):
    target = choose_target(requested and requested_target(*requested), external)
    assert (target.url, target.origin) == (url, origin)
    assert target.is_remote == url.startswith("sc://")


@pytest.mark.parametrize(
    ("requested", "external", "error"),
    [
        (("local[2]", None), SUBMITTED, "master local[2] was requested, but spark-submit uses master spark://host:7077"),
        ((None, "sc://h"), SUBMITTED, "remote sc://h:15002 was requested, but spark-submit uses master spark://host:7077"),
        (("local[2]", None), REMOTE, "master local[2] was requested, but SPARK_REMOTE uses remote sc://host:15002"),
    ],
)  # fmt: skip
def test_a_conflict_is_an_error_that_names_both(requested, external, error):
    with pytest.raises(InputError) as raised:
        choose_target(requested_target(*requested), [external])
    assert raised.value.problem == error
    assert "or omit the" in raised.value.hint


def test_a_master_and_a_remote_exclude_each_other():
    with pytest.raises(InputError, match="both a master and a remote address were requested"):
        requested_target("local[1]", "sc://h")


@pytest.mark.parametrize("url", ["nonsense", "locale", "local[x]", "spark:/host", "http://host", "local[2", "sc://h"])
def test_other_addresses_are_no_masters(url):
    with pytest.raises(InputError, match=r"is not a Spark master \(MASTER\)"):
        SessionTarget(url, False, "MASTER").check()


@pytest.mark.parametrize("url", ["host:15002", "spark://host:7077", "yarn", "http://host"])
def test_other_addresses_are_no_remotes(url):
    with pytest.raises(InputError, match="is not a Spark remote address"):
        SessionTarget(url, True, "requested").check()


@pytest.mark.parametrize(
    "url", ["local", "local[*]", "local[2, 3]", "local-cluster[2,1,1024]", "yarn", "k8s://https://h"]
)
def test_masters_without_a_port_are_not_tried(url):
    SessionTarget(url, False, "requested").check()


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("sc://h", "sc://h:15002"),
        ("sc://h:443/;token=SECRET;use_ssl=true", "sc://h:443"),
        ("sc://[::1]/;token=SECRET", "sc://[::1]:15002"),
        ("sc://[::1]:7/", "sc://[::1]:7"),
        ("spark://a:7077,b:7077", "spark://a:7077,b:7077"),
        ("local[2]", "local[2]"),
    ],
)
def test_an_address_has_no_parameters(url, address):
    assert SessionTarget(url, url.startswith("sc"), "requested").address == address


def test_a_token_is_neither_shown_nor_compared():
    configured = [ExternalSettings("spark-submit", {"spark.remote": "sc://h:15002/;token=ONE"})]
    assert choose_target(requested_target(None, "sc://h/;token=TWO"), configured).url == "sc://h/;token=TWO"
    with pytest.raises(InputError) as raised:
        choose_target(requested_target(None, "sc://other/;token=TWO"), configured)
    assert "token" not in str(raised.value)


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
