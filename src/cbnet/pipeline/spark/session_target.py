"""Where a Spark session runs: a master, or a Spark Connect server.

    requested master or remote  >  external settings  >  local[*]

A request that differs from the master of spark-submit is an error, and so is a master while SPARK_REMOTE is set.
External settings, in order of precedence:

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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from socket import create_connection
from urllib.parse import urlsplit

from pyspark import SparkConf, SparkContext
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession

from cbnet.errors import CbnetError, InputError

LOCAL = "local[*]"
_LOCAL = r"local(-cluster)?(\[[\d*, ]+\])?"
_MASTERS = re.compile(rf"{_LOCAL}|spark://.+|yarn|k8s://.+")
_REMOTES = re.compile(rf"{_LOCAL}|sc://.+")
_CONNECT_PORT = 15002
_GATEWAY = "PYSPARK_GATEWAY_PORT"  # of the Java that spark-submit has started
_OPTIONS = {"--master": "spark.master", "--remote": "spark.remote", "--driver-memory": "spark.driver.memory"}
_PROPERTY = re.compile(r"\s*([^#!\s=:]+)\s*[=:\s]\s*(.*)")  # of a file of Java properties


@dataclass(frozen=True)
class SessionTarget:
    """The address of a master or of a Spark Connect server, and where it was set."""

    url: str
    is_remote: bool
    origin: str

    @property
    def is_local(self) -> bool:
        """Whether Spark runs on this machine, started by this process."""
        return self.url.startswith("local")

    @property
    def address(self) -> str:
        """The URL without the parameters of Spark Connect, which may include a token; to be shown and compared."""
        if not self.url.startswith("sc://"):
            return self.url
        host = self.url.removeprefix("sc://").partition("/")[0]
        return f"sc://{host}" if ":" in host.rpartition("]")[2] else f"sc://{host}:{_CONNECT_PORT}"

    @property
    def kind(self) -> str:
        """`remote` or `master`."""
        return "remote" if self.is_remote else "master"

    def check(self) -> None:
        """Raise the errors that Spark would raise after minutes."""
        if self.is_remote:
            self._check_form(_REMOTES, "remote address", "sc://host:15002, or local[*] for a server of its own")
        else:
            self._check_form(_MASTERS, "master", "local[*], spark://host:7077, yarn or k8s://https://host:port")
        addresses = self._addresses()
        if addresses and not any(_listens(host, port) for host, port in addresses):
            server = "Connect server" if self.is_remote else "master"
            raise CbnetError(f"no Spark {server} listens on {self.address} ({self.origin})")

    def _check_form(self, form: re.Pattern[str], what: str, examples: str) -> None:
        if not form.fullmatch(self.url):
            raise InputError(f"{self.address!r} is not a Spark {what} ({self.origin})", hint=f"use {examples}")

    def _addresses(self) -> list[tuple[str, str]]:
        if self.is_remote and not self.is_local:
            parts = urlsplit(self.url)
            return [(parts.hostname or "", str(parts.port or _CONNECT_PORT))]
        if self.url.startswith("spark://"):
            found = [address.rpartition(":") for address in self.url.removeprefix("spark://").split(",")]
            return [(host, port) for host, _, port in found]
        return []


def is_connect(spark: SparkSession) -> bool:
    """Return whether a session is a client of Spark Connect, which has no `sparkContext`."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def target_of(spark: SparkSession) -> SessionTarget:
    """Return where a running session runs."""
    origin, own = "the running session", SparkContext._active_spark_context
    if own is not None:  # of a classic session, or of a Connect server in this process
        return SessionTarget(own.master or "", is_connect(spark), origin)
    return SessionTarget(f"sc://{spark.client._builder.endpoint}", True, origin)  # type: ignore[attr-defined]


def requested_target(master: str | None, remote: str | None) -> SessionTarget | None:
    """Return the target that the caller requests; None without a request."""
    if master and remote:
        hint = "give either a master or the address of a Spark Connect server"
        raise InputError("both a master and a remote address were requested", hint=hint)
    if master or remote:
        return SessionTarget(master or remote or "", bool(remote), "requested")
    return None


def choose_target(requested: SessionTarget | None, external: Sequence[ExternalSettings]) -> SessionTarget:
    """Return the target of a new session; raise an error if the request conflicts with a fixed one."""
    configured = external_target(external)
    if requested is None:
        return configured or SessionTarget(LOCAL, False, "default")
    if configured is not None and configured.origin == "spark-submit":
        require_same(requested, configured, "pass it to spark-submit")
    if configured is not None and configured.origin == "SPARK_REMOTE" and not requested.is_remote:
        require_same(requested, configured, "unset SPARK_REMOTE")  # PySpark refuses both, too
    return requested


def external_target(external: Sequence[ExternalSettings]) -> SessionTarget | None:
    """Return the target with the highest precedence in external settings; None if they have none."""
    for each in external:
        for key in ("spark.remote", "spark.master"):
            if url := each.settings.get(key):
                return SessionTarget(url, key == "spark.remote", each.origin)
    return None


def require_same(requested: SessionTarget, used: SessionTarget, remedy: str) -> None:
    """Raise an error if two targets differ."""
    if (requested.address, requested.is_remote) != (used.address, used.is_remote):
        problem = (
            f"{requested.kind} {requested.address} was requested, but {used.origin} uses {used.kind} {used.address}"
        )
        raise InputError(problem, hint=f"{remedy}, or omit the {requested.kind}")


def _listens(host: str, port: str) -> bool:
    try:
        create_connection((host, int(port)), timeout=10).close()
    except (OSError, ValueError):
        return False
    return True


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
