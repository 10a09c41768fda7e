"""A private RabbitMQ broker, started and stopped for a comparison.

It has its own node name, ports and folder. The data and the service of an installed broker are not touched.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from cbnet.errors import CbnetError
from cbnet.network.service.process_network import free_ports
from cbnet_lab.bench.server_process import ServerProcess, ServerSetup, new_folder

NAME = "RabbitMQ"
INSTALL_COMMAND = "apt-get install rabbitmq-server"
# Debian's command in the PATH switches user and drops the environment; the script that it runs does not.
_SCRIPTS = ("/usr/lib/rabbitmq/bin/rabbitmq-server",)
_START_TIMEOUT = 300.0  # seconds, for a busy machine


def find_broker() -> str | None:
    """Return the path of the broker's start script, or None if it is not installed."""
    installed = next((script for script in _SCRIPTS if os.access(script, os.X_OK)), None)
    return installed or shutil.which("rabbitmq-server")


def broker_process(script: str) -> ServerProcess:
    """Return a broker that is not started yet."""
    epmd = shutil.which("epmd")
    if epmd is None:
        raise CbnetError(f"the broker needs epmd: install it with {INSTALL_COMMAND}")
    port, dist_port, epmd_port = free_ports(3)
    folder = new_folder()
    setup = ServerSetup(
        (script,),
        {"rabbitmq.conf": "", "plugins": "[].\n"},
        [(epmd, "-port", str(epmd_port), "-address", "127.0.0.1")],
        _environment(folder, port, dist_port, epmd_port),
    )
    return ServerProcess(setup, port, folder, _START_TIMEOUT)


def _environment(folder: Path, port: int, dist_port: int, epmd_port: int) -> dict[str, str]:
    """Return the broker's environment: everything in one folder, and on loopback."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "HOME": str(folder),  # of its cookie
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_EPMD_PORT": str(epmd_port),
        "RABBITMQ_NODENAME": f"cbnet-bench-{os.getpid()}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(dist_port),
        "RABBITMQ_MNESIA_BASE": str(folder),
        "RABBITMQ_LOG_BASE": str(folder),
        "RABBITMQ_CONF_ENV_FILE": f"{folder}/none",
        "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq.conf",
        "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/plugins",
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-start_epmd false -kernel inet_dist_use_interface {127,0,0,1}",
    }


def broker_version(broker: ServerProcess) -> str:
    """Return the version from the broker's log."""
    return next((line.strip(" #").strip() for line in broker.output() if NAME in line), NAME)
