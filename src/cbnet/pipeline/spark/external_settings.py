"""Spark settings from outside the program. In order of precedence:

    SPARK_REMOTE           the address of a Spark Connect server
    spark-submit           its options and its spark-defaults.conf, if it started the program

and, without spark-submit:

    PYSPARK_SUBMIT_ARGS    options, as of spark-submit
    spark-defaults.conf    in SPARK_CONF_DIR, or in the folder conf of SPARK_HOME
    MASTER                 the address of a master
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.find_spark_home import _find_spark_home

_GATEWAY = "PYSPARK_GATEWAY_PORT"  # of the Java that spark-submit has started
_OPTIONS = {"--master": "spark.master", "--remote": "spark.remote", "--driver-memory": "spark.driver.memory"}
_PROPERTY = re.compile(r"\s*([^#!\s=:]+)\s*[=:\s]\s*(.*)")  # of a file of Java properties


@dataclass(frozen=True)
class ExternalSettings:
    """Settings, and where they come from."""

    origin: str
    settings: Mapping[str, str]


def is_submitted(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether spark-submit started this program, and Java with it."""
    return _GATEWAY in environment


def external_settings(environment: Mapping[str, str] = os.environ) -> list[ExternalSettings]:
    """Return the settings by origin, in order of precedence."""
    found = [ExternalSettings("SPARK_REMOTE", _one(environment, "SPARK_REMOTE", "spark.remote"))]
    if is_submitted(environment):
        found.append(ExternalSettings("spark-submit", _submitted()))
    else:
        arguments = dict(_arguments(environment.get("PYSPARK_SUBMIT_ARGS", "")))
        file = Path(arguments.pop("file", "") or _defaults(environment))
        found.append(ExternalSettings("PYSPARK_SUBMIT_ARGS", arguments))
        found.append(ExternalSettings(str(file), dict(_properties(file))))
        found.append(ExternalSettings("MASTER", _one(environment, "MASTER", "spark.master")))
    return [each for each in found if each.settings]


def _one(environment: Mapping[str, str], name: str, key: str) -> dict[str, str]:
    return {key: environment[name]} if environment.get(name) else {}


def _submitted() -> dict[str, str]:
    SparkContext._ensure_initialized()  # connects to the running Java
    return dict(SparkConf().getAll())


def _arguments(text: str) -> Iterator[tuple[str, str]]:
    """Yield the settings among the arguments of spark-submit, and `file` for that of its properties."""
    words = iter(shlex.split(text))
    for word in words:
        option, equals, value = word.partition("=")
        if option in (*_OPTIONS, "--conf", "-c", "--properties-file"):
            value = value if equals else next(words, "")
            key, _, rest = value.partition("=")
            yield (key, rest) if option in ("--conf", "-c") else (_OPTIONS.get(option, "file"), value)


def _defaults(environment: Mapping[str, str]) -> Path:
    folder = environment.get("SPARK_CONF_DIR") or Path(environment.get("SPARK_HOME") or _find_spark_home()) / "conf"
    return Path(folder) / "spark-defaults.conf"


def _properties(file: Path) -> Iterator[tuple[str, str]]:
    if file.is_file():
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            if found := _PROPERTY.fullmatch(line):
                yield found[1], found[2].strip()
