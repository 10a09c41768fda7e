import pytest

from cbnet.pipeline.spark.session import _settings
from cbnet.pipeline.spark.session_target import choose_target

OPTIONS = "spark.driver.extraJavaOptions"


@pytest.mark.parametrize(
    ("conf", "environment", "collectors"),
    [
        ({}, {}, ["-XX:+UseParallelGC"]),
        ({OPTIONS: "-Xss4m"}, {}, ["-XX:+UseParallelGC"]),
        ({OPTIONS: "-XX:+UseZGC"}, {}, ["-XX:+UseZGC"]),
        ({}, {"JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC"}, []),  # Java reads it itself
    ],
)
def test_java_gets_one_collector(monkeypatch, conf, environment, collectors):
    for name in ("SPARK_SUBMIT_OPTS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_IP"):
        monkeypatch.setenv(name, "set")
    options = _settings(choose_target(None, []), [], conf)[OPTIONS].split()
    assert [option for option in options if option.startswith("-XX:+Use")] == collectors
    assert conf.get(OPTIONS, options[-1]) == options[-1]
