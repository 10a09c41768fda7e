"""Routers that are run by `cbnet router`, each a process of its own, as somebody runs them who keeps them up."""

import http.client
import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

from cbnet.network.service.process_network import _free_ports


class Operated:
    """A router in a process."""

    def __init__(self, name, port, http_port, neighbours, *arguments):
        self.name = name
        self.address = f"127.0.0.1:{port}"
        self.http_port = http_port
        dialled = [word for other, where in neighbours.items() for word in ("--neighbour", f"{other}={where}")]
        command = [sys.executable, "-m", "cbnet", "router", "--name", name, "--listen", self.address]
        command += ["--http", f"127.0.0.1:{http_port}", "--log", "json", *dialled, *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_until_started(self):
        """Return when it listens."""
        assert self.process.stdout.readline() == f"router {self.name} listens at {self.address}\n"

    def get(self, path, method="GET"):
        """Return status, headers and body of a page."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=5)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def state(self, path="/readyz"):
        """Return status and JSON body of a page."""
        status, _, body = self.get(path)
        return status, json.loads(body)

    def wait_until_ready(self):
        """Return when work may be given to it."""
        end = time.monotonic() + 20
        while self.state()[0] != 200:
            assert time.monotonic() < end, self.state()
            time.sleep(0.02)

    def end(self, number=signal.SIGTERM):
        """Send a signal; return its exit code and the events of its log."""
        self.process.send_signal(number)
        _, log = self.process.communicate(timeout=20)
        return self.process.returncode, [json.loads(line) for line in log.splitlines()]


@contextmanager
def operated(links, *arguments):
    """Run routers with these links, such as "ab bc ca"; the second of both is dialled by the first."""
    names = sorted(set(links.replace(" ", "")))
    ports = _free_ports(2 * len(names), taken=())
    where = dict(zip(names, ports, strict=False))
    routers = {}
    try:
        for name, http_port in zip(names, ports[len(names) :], strict=True):
            dialled = {b: f"127.0.0.1:{where[b]}" for a, *rest in links.split() for b in rest if a == name}
            routers[name] = Operated(name, where[name], http_port, dialled, *arguments)
        for router in routers.values():
            router.wait_until_started()
        yield routers
    finally:
        for router in routers.values():
            router.process.kill()
            router.process.communicate()
