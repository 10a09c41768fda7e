"""Routers run by `cbnet router`, each in a process of its own."""

import http.client
import json
import signal
import subprocess
import sys
from contextlib import contextmanager

from support.waiting import wait_until

from cbnet.network.service.reserved_ports import ReservedPorts


class RouterProcess:
    """A router in a process."""

    def __init__(self, name, port, http_port, neighbours, *arguments):
        self.name = name
        self.address = f"127.0.0.1:{port}"
        self.http_port = http_port
        dialled = [word for other, address in neighbours.items() for word in ("--neighbour", f"{other}={address}")]
        command = [sys.executable, "-m", "cbnet", "router", "--name", name, "--listen", self.address]
        command += ["--http", f"127.0.0.1:{http_port}", "--log", "json", *dialled, *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_until_started(self):
        """Wait until it listens."""
        assert self.process.stdout.readline() == f"router {self.name} listens on {self.address}\n"

    def get(self, path, method="GET"):
        """Return status, headers and body of a page."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=60)
        try:
            connection.request(method, path)
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()
        finally:
            connection.close()

    def state(self, path="/readyz"):
        """Return status and JSON body of a page."""
        status, _, body = self.get(path)
        return status, json.loads(body)

    def wait_until_ready(self):
        """Wait until it is ready."""
        wait_until(lambda: self.state()[0] == 200, timeout=60)

    def stop(self, number=signal.SIGTERM):
        """Send a signal; return the exit code and the log events."""
        self.process.send_signal(number)
        _, log = self.process.communicate(timeout=60)
        return self.process.returncode, [json.loads(line) for line in log.splitlines()]


@contextmanager
def running_command(*arguments, stderr=subprocess.PIPE):
    """Run a command as a process, and kill it at the end."""
    command = [sys.executable, "-m", "cbnet", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def router_processes(links, *arguments):
    """Run routers with links such as "ab bc ca"; the first of each pair dials the second."""
    names = sorted(set(links.replace(" ", "")))
    routers = {}
    reserved = ReservedPorts(2 * len(names))
    ports = reserved.numbers
    port_of = dict(zip(names, ports, strict=False))
    try:
        for name, http_port in zip(names, ports[len(names) :], strict=True):
            dialled = {b: f"127.0.0.1:{port_of[b]}" for a, *rest in links.split() for b in rest if a == name}
            routers[name] = RouterProcess(name, port_of[name], http_port, dialled, *arguments)
        for router in routers.values():
            router.wait_until_started()
        yield routers
    finally:
        for router in routers.values():
            router.process.kill()
            router.process.communicate()
        reserved.close()
