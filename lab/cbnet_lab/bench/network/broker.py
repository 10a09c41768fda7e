"""A private RabbitMQ broker, started and stopped for a comparison.

It has its own node name, ports and folder. The data and the service of an installed broker are not touched.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from cbnet.errors import CbnetError
from cbnet.network.service.process_network import free_ports
from cbnet_lab.bench.cpu import session

NAME = "RabbitMQ"
INSTALL_COMMAND = "apt-get install rabbitmq-server"
# Debian's command in the PATH switches user and drops the environment; the script that it runs does not.
_SCRIPTS = ("/usr/lib/rabbitmq/bin/rabbitmq-server",)
_START_TIMEOUT = 300.0  # seconds, for a busy machine
_STOP_TIMEOUT = 10.0  # seconds


def find_broker() -> str | None:
    """Return the path of the broker's start script, or None if it is not installed."""
    installed = next((script for script in _SCRIPTS if os.access(script, os.X_OK)), None)
    return installed or shutil.which("rabbitmq-server")


class Broker:
    """A broker that runs in a `with` block."""

    def __init__(self, script: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="cbnet-broker-"))
        self._script = script
        self.port, self._dist_port, self._epmd_port = free_ports(3)
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def pids(self) -> list[int]:
        """The processes of the broker."""
        return session(self._processes[-1].pid)

    def environment(self) -> dict[str, str]:
        """Return the broker's environment: everything in one folder, and on loopback."""
        folder = str(self._folder)
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "HOME": folder,  # of its cookie
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self._epmd_port),
            "RABBITMQ_NODENAME": f"cbnet-bench-{os.getpid()}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self._dist_port),
            "RABBITMQ_MNESIA_BASE": folder,
            "RABBITMQ_LOG_BASE": folder,
            "RABBITMQ_CONF_ENV_FILE": f"{folder}/none",
            "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq.conf",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/plugins",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-start_epmd false -kernel inet_dist_use_interface {127,0,0,1}",
        }

    def version(self) -> str:
        """Return the version from the broker's log."""
        for line in (self._folder / "output").read_text(errors="replace").splitlines():
            if NAME in line:
                return line.strip(" #").strip()
        return NAME

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> None:
        environment = self.environment()
        (self._folder / "rabbitmq.conf").touch()
        (self._folder / "plugins").write_text("[].\n")
        epmd = shutil.which("epmd")
        if epmd is None:
            raise CbnetError(f"the broker needs epmd: install it with {INSTALL_COMMAND}")
        self._run(environment, epmd, "-port", str(self._epmd_port), "-address", "127.0.0.1")
        self._run(environment, self._script)
        self._wait()

    def _run(self, environment: Mapping[str, str], *command: str) -> None:
        with (self._folder / "output").open("ab") as output:
            started = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._folder,
                start_new_session=True,  # Ctrl-C goes to this process, which stops the broker
            )
        self._processes.append(started)

    def _wait(self) -> None:
        end = time.monotonic() + _START_TIMEOUT
        while not _listens(self.port):
            if self._processes[-1].poll() is not None or time.monotonic() > end:
                raise CbnetError(f"the broker did not start: {self._last_line()}")
            time.sleep(0.1)

    def _last_line(self) -> str:
        lines = (self._folder / "output").read_text(errors="replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), "no output")

    def close(self) -> None:
        """Stop the broker and remove its folder."""
        for process in reversed(self._processes):
            process.terminate()
            try:
                process.wait(_STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            with suppress(ProcessLookupError):  # all its children have ended
                os.killpg(process.pid, signal.SIGKILL)
        shutil.rmtree(self._folder, ignore_errors=True)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0
