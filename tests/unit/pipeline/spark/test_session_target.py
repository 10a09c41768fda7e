import pytest

from cbnet.errors import InputError
from cbnet.pipeline.spark.session_target import SessionTarget, asked_target, choose_target
from cbnet.pipeline.spark.stated_settings import StatedSettings

SUBMITTED = StatedSettings("spark-submit", {"spark.master": "spark://host:7077"})
REMOTE = StatedSettings("SPARK_REMOTE", {"spark.remote": "sc://host"})
DEFAULTS = StatedSettings("spark-defaults.conf", {"spark.master": "yarn"})
OTHERS = StatedSettings("PYSPARK_SUBMIT_ARGS", {"spark.driver.memory": "1g"})


@pytest.mark.parametrize(
    ("asked", "stated", "url", "origin"),
    [
        (None, [], "local[*]", "by default"),
        (None, [OTHERS], "local[*]", "by default"),
        (None, [OTHERS, DEFAULTS], "yarn", "spark-defaults.conf"),
        (None, [SUBMITTED], "spark://host:7077", "spark-submit"),
        (None, [REMOTE, SUBMITTED], "sc://host", "SPARK_REMOTE"),
        (("local[2]", None), [DEFAULTS], "local[2]", "as asked"),
        (("spark://host:7077", None), [SUBMITTED], "spark://host:7077", "as asked"),
        ((None, "sc://other"), [REMOTE], "sc://other", "as asked"),
        ((None, "sc://other"), [DEFAULTS], "sc://other", "as asked"),
    ],
)
def test_what_is_asked_for_is_used_else_what_is_stated(asked, stated, url, origin):
    target = choose_target(asked and asked_target(*asked), stated)
    assert (target.url, target.origin) == (url, origin)
    assert target.is_remote == url.startswith("sc://")


@pytest.mark.parametrize(
    ("asked", "stated", "error"),
    [
        (("local[2]", None), SUBMITTED, "the master local[2] is asked for, but spark-submit has the master spark://host:7077"),
        ((None, "sc://h"), SUBMITTED, "the remote sc://h is asked for, but spark-submit has the master spark://host:7077"),
        (("local[2]", None), REMOTE, "the master local[2] is asked for, but SPARK_REMOTE has the remote sc://host"),
    ],
)  # fmt: skip
def test_a_contradiction_is_an_error_that_names_both(asked, stated, error):
    with pytest.raises(InputError) as raised:
        choose_target(asked_target(*asked), [stated])
    assert raised.value.problem == error
    assert "or ask for no" in raised.value.hint


def test_a_master_and_a_remote_exclude_each_other():
    with pytest.raises(InputError, match=r"both a master, 'local\[1\]', and a remote, 'sc://h', are given"):
        asked_target("local[1]", "sc://h")


@pytest.mark.parametrize("url", ["nonsense", "locale", "local[x]", "spark:/host", "http://host", "local[2", "sc://h"])
def test_other_addresses_are_no_masters(url):
    with pytest.raises(InputError, match=r"is not a Spark master \(MASTER\)"):
        SessionTarget(url, False, "MASTER").check()


@pytest.mark.parametrize("url", ["host:15002", "spark://host:7077", "yarn", "http://host"])
def test_other_addresses_are_no_remotes(url):
    with pytest.raises(InputError, match="is not a Spark remote address"):
        SessionTarget(url, True, "as asked").check()


@pytest.mark.parametrize(
    "url", ["local", "local[*]", "local[2, 3]", "local-cluster[2,1,1024]", "yarn", "k8s://https://h"]
)
def test_masters_without_a_port_are_not_tried(url):
    SessionTarget(url, False, "as asked").check()
