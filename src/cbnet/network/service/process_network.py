"""A network on one machine, with one process per router, over TCP on loopback.

    with ProcessNetwork.of(topology("powerlaw:20")) as network:
        network.wait()                                  # until every router knows all others
        client = connect(str(network.addresses["0"]))

The processes end with this one, however it ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any, NamedTuple, Self

import msgspec

from cbnet.errors import CbnetError, InputError, LimitError
from cbnet.network.client.router_status import statuses
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.addresses import Address
from cbnet.network.security.tls import Tls
from cbnet.network.service.reserved_ports import ReservedPorts
from cbnet.network.transport.journals.journal_place import journal_place
from cbnet.topology import Graph
from cbnet.topology.traversal import reachable

_TIMEOUT = 60.0  # seconds for a router to start or stop
MAX_ROUTERS = 500  # on one machine; each uses about 20 MB


class InitialFiles(NamedTuple):
    """The initial files of a network made from data."""

    predicates: Path  # of the nodes: a file, or a folder of Parquet files
    tables: Mapping[str, Path]  # of some routers, by name


class ProcessNetwork:
    """Routers in processes on this machine; a context manager."""

    def __init__(
        self,
        settings: Iterable[Settings],
        links: Iterable[tuple[str, str]],
        ports: Mapping[str, int] | None = None,
        data: InitialFiles | None = None,
        journals: Path | str | None = None,
        *,
        http: bool = False,
        security: Mapping[str, Mapping[str, Any]] | None = None,
        stderr: IO[bytes] | None = None,
    ) -> None:
        """Initialise with the routers, the pairs of neighbours, and their ports; by default any free port.

        data: initial predicates and tables. journals: a folder with a subfolder for the journal of each router, or the
        address of a database of all. http: whether routers serve HTTP, on free ports. security: by router, keys of its
        security policy. stderr: file for their standard error.
        """
        if not hasattr(os, "fork"):
            raise CbnetError(f"{sys.platform} cannot fork routers: start each one with `cbnet router`")
        self.journals = None if journals is None else journal_place(str(journals))
        self.settings = {each.name: each for each in settings}
        if len(self.settings) > MAX_ROUTERS:
            hint = "use a smaller graph, `cbnet lab simulate`, or `cbnet router` on several machines"
            raise LimitError("routers on one machine", len(self.settings), MAX_ROUTERS, hint=hint)
        self.links = list(links)
        self.exit_codes: dict[str, int] = {}  # of routers that have exited
        self.pids: dict[str, int] = {}
        self._ports = ReservedPorts((1 + http) * len(self.settings), taken=(ports or {}).values())
        chosen = iter(self._ports.numbers)
        self.addresses = {name: Address("127.0.0.1", (ports or {}).get(name) or next(chosen)) for name in self.settings}
        self.http_addresses = {name: Address("127.0.0.1", next(chosen)) for name in self.settings if http}
        self.relays: dict[tuple[str, str], Address] = {}  # link -> address dialled instead of the second router
        self._events: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._launcher = subprocess.Popen(
            [sys.executable, "-m", "cbnet.network.service.launcher"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,  # Ctrl-C is for this process, which stops the others
        )
        threading.Thread(target=self._listen, daemon=True, name="cbnet-processes").start()
        self._security = security or {}
        self._data = data
        if data is not None:
            self._send({"load": str(data.predicates), "nodes": list(self.settings)})

    @classmethod
    def of(
        cls,
        graph: Graph,
        *,
        ports: Mapping[str, int] | None = None,
        data: InitialFiles | None = None,
        journals: Path | str | None = None,
        http: bool = False,
        network: str = "cbnet",
        stderr: IO[bytes] | None = None,
        **settings: Any,
    ) -> ProcessNetwork:
        """Create the network of a graph; `settings` apply to all routers."""
        weights: dict[str, dict[str, int]] = {str(name): {} for name in graph.names}
        for u, v, weight in graph.edges():
            a, b = str(graph.name(u)), str(graph.name(v))
            weights[a][b] = weights[b][a] = weight
        routers = [Settings(name, network=network, weights=each, **settings) for name, each in weights.items()]
        links = [(a, b) for a, each in weights.items() for b in each if a < b]
        return cls(routers, links, ports, data, journals, http=http, stderr=stderr)

    # --- the network

    def __enter__(self) -> Self:
        try:
            self.start(*self.settings)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all routers."""
        assert self._launcher.stdin is not None
        assert self._launcher.stdout is not None
        self._launcher.stdin.close()
        self._launcher.wait()
        self._ports.close()

    def wait(
        self,
        timeout: float = 30.0,
        report: Callable[[int], None] = lambda _: None,
        *,
        tls: Tls | None = None,
        token: str | None = None,
    ) -> None:
        """Wait until every running router has its neighbours, knows all reachable routers, and has all announcements.

        report: called with the number of routers that are ready. tls, token: of a client of all routers that may watch.
        """
        end = time.monotonic() + timeout
        expected = self._expected()
        network = next(iter(self.settings.values())).network
        while True:
            began = time.monotonic()
            asked = {name: self.addresses[name] for name in expected}
            answers = statuses(asked, network=network, tls=tls, token=token)
            ready = [
                name
                for name, status in answers.items()
                if status.is_complete and (set(status.neighbours), status.reachable) == expected[name]
            ]
            report(len(ready))
            if len(ready) == len(expected):
                return
            if time.monotonic() > end:
                missing = ", ".join(sorted(expected.keys() - set(ready))[:5])
                raise CbnetError(f"routers that do not know all others after {timeout:g} s: {missing}")
            time.sleep(max(0.1, time.monotonic() - began))  # querying many routers costs them time

    # --- one router

    def start(self, *names: str) -> None:
        """Start routers, and wait until they listen."""
        self._send({"gate": "shut"})
        for name in names:
            dialled = {b: str(self.relays.get((a, b), self.addresses[b])) for a, b in self.links if a == name}
            listen = str(self.addresses[name])
            start = {"start": msgspec.to_builtins(self.settings[name]), "listen": listen, "neighbours": dialled}
            if name in self._security:
                start["security"] = dict(self._security[name])
            if isinstance(self.journals, Path):
                start["journal"] = str(self.journals / name)
            elif self.journals is not None:
                start["journal"] = self.journals.uri
            if name in self.http_addresses:
                start["http"] = str(self.http_addresses[name])
            if self._data is not None and name in self._data.tables:
                start["table"] = str(self._data.tables[name])
            self._send(start)
            self.exit_codes.pop(name, None)
        self._send({"gate": "open"})
        waiting = set(names)
        while waiting:
            event = self._next(_TIMEOUT)
            if event is None or "failed" in event or event.get("ended") in waiting:
                raise InputError((event or {}).get("why", "a router did not start"))
            waiting.discard(event.get("listening", ""))

    def signal(self, name: str, number: int) -> None:
        """Send a signal to a router, such as SIGSTOP or SIGCONT."""
        self._send({"signal": int(number), "to": name})

    def kill(self, name: str) -> int:
        """Kill a router (SIGKILL); return its exit code."""
        return self._end(name, signal.SIGKILL)

    def stop(self, name: str) -> int:
        """Stop a router gracefully (SIGTERM); return its exit code."""
        return self._end(name, signal.SIGTERM)

    def wait_exit(self, timeout: float | None = None) -> str | None:
        """Wait for a router to end; return its name, or None after the timeout."""
        before = set(self.exit_codes)
        while (event := self._next(timeout)) is not None:
            if "ended" in event and event["ended"] not in before:
                return str(event["ended"])
        return None

    # --- internals

    def _end(self, name: str, number: int) -> int:
        self.signal(name, number)
        while name not in self.exit_codes:
            if self._next(_TIMEOUT) is None:
                raise CbnetError(f"the router {name} did not stop")
        return self.exit_codes[name]

    def _send(self, command: dict[str, Any]) -> None:
        assert self._launcher.stdin is not None
        try:
            self._launcher.stdin.write(msgspec.json.encode(command) + b"\n")
            self._launcher.stdin.flush()
        except OSError:
            raise CbnetError("the launcher process has exited") from None

    def _listen(self) -> None:
        assert self._launcher.stdout is not None
        for line in self._launcher.stdout:
            self._events.put(msgspec.json.decode(line))
        self._launcher.stdout.close()

    def _next(self, timeout: float | None) -> dict[str, Any] | None:
        try:
            event = self._events.get(timeout=timeout)
        except Empty:
            return None
        if "listening" in event:
            self.pids[event["listening"]] = event["pid"]
        elif "ended" in event:
            self.exit_codes[event["ended"]] = event["code"]
            self.pids.pop(event["ended"], None)
        return event

    def _expected(self) -> dict[str, tuple[set[str], int]]:
        """Return the neighbours of each running router, and the number of routers that it can reach."""
        running = self.settings.keys() - self.exit_codes.keys()
        links = [ends for ends in self.links if {*ends} <= running]
        neighbours: dict[str, set[str]] = {name: set() for name in sorted(running)}
        for a, b in links:
            neighbours[a].add(b)
            neighbours[b].add(a)
        return {name: (each, len(reachable(name, links))) for name, each in neighbours.items()}
