"""The files in `deploy` name existing options, keys and files."""

import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from cbnet.network.service.configuration import DEFAULTS, configuration

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def instructions():
    """Return the instructions of the Dockerfile, each with its arguments."""
    lines = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line and not line.startswith("#")]


def unit():
    """Return the last value of each key of the unit."""
    lines = (DEPLOY / "cbnet-router.service").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def test_router_file_is_valid():
    config = configuration(DEPLOY / "router.toml", {}, {})
    assert set(tomllib.loads((DEPLOY / "router.toml").read_text())) <= set(DEFAULTS)
    assert str(config.process.http) == "127.0.0.1:9090"


def commands():
    """Yield the cbnet command lines of both files."""
    yield shlex.split(unit()["ExecStart"])
    words = dict(instructions())
    listed = {key: re.findall(r'"([^"]*)"', words[key]) for key in ("ENTRYPOINT", "CMD", "HEALTHCHECK")}
    yield listed["ENTRYPOINT"] + listed["CMD"]
    yield listed["HEALTHCHECK"]


@pytest.mark.parametrize("words", list(commands()), ids=lambda words: words[1])
def test_commands_have_the_options_used(cbnet, words):
    assert Path(words[0]).name == "cbnet"
    options = [word for word in words[2:] if word.startswith("-")]
    help_ = cbnet(words[1], "--help").out
    assert all(re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", help_) for option in options)
    assert "/etc/cbnet/router.toml" in words or words[1] == "health"


def test_image_copies_existing_files_and_runs_unprivileged():
    config = instructions()
    for instruction, words in config:
        if instruction == "COPY" and "--from" not in words and not words.startswith("dist "):  # made by `make build`
            assert all((ROOT / source).exists() for source in words.split()[:-1]), words
    kinds = [instruction for instruction, _ in config]
    assert kinds.count("FROM") == 2
    assert dict(config)["USER"] == "65534:65534"  # nobody
    assert kinds.index("USER") < kinds.index("ENTRYPOINT")
    assert dict(config)["ENTRYPOINT"].startswith("[")  # otherwise a shell would get the signal


def test_image_context_has_what_is_copied_and_nothing_else():
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = {words.split()[0] for kind, words in instructions() if kind == "COPY" and "--from" not in words}
    assert copied == {"dist", "deploy/router.toml"}
    assert allowed == ["dist/*.whl", "deploy/router.toml"]


def test_systemd_timeout_exceeds_the_drain_time():
    config = configuration(DEPLOY / "router.toml", {}, {})
    assert float(unit()["TimeoutStopSec"]) > 2 * config.process.drain
    assert (unit()["Type"], unit()["DynamicUser"], unit()["ProtectSystem"]) == ("notify", "yes", "strict")


def test_systemd_accepts_the_unit(tmp_path):
    assert shutil.which("systemd-analyze"), "this test needs systemd-analyze: install the package systemd"
    text = (DEPLOY / "cbnet-router.service").read_text().replace("/opt/cbnet/bin/cbnet", "/bin/true")
    (tmp_path / "cbnet-router.service").write_text(text)
    command = ["systemd-analyze", "verify", str(tmp_path / "cbnet-router.service")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_systemd_rates_the_unit_as_little_exposed():
    command = ["systemd-analyze", "security", "--offline=yes", "--threshold=15", str(DEPLOY / "cbnet-router.service")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr  # above 1.5 of 10
