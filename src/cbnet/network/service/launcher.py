"""A process that forks router processes: `python -m cbnet.network.service.launcher`, used by `process_network`.

It imports everything once and forks: a router starts in milliseconds and shares the memory of the code. Commands
arrive as JSON Lines on standard input; events are written to standard output:

    {"load": path of predicates, "nodes": [name]}
    {"start": settings, "listen": "127.0.0.1:4001", "neighbours": {name: address}, "table": path, "http": address}
    {"gate": "shut"} … {"gate": "open"}    routers started in between wait for the second: otherwise the first
                                           ones would handle each new neighbour while the others start
    {"signal": 9, "to": name}

    {"listening": name, "pid": 12}      {"failed": name, "why": text}      {"ended": name, "code": -9}

The predicates of nodes are read once, here, and shared by all routers. `table`, `journal`, `http` and `security`, the
keys of a security policy, are optional.

When standard input ends, or the launcher is killed, all routers stop.
"""

from __future__ import annotations

import asyncio
import gc
import os
import selectors
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from cbnet.errors import CbnetError
from cbnet.network.announce.announcements import NodeData
from cbnet.network.forwarding.timed_table import empty_table
from cbnet.network.link.settings import Settings
from cbnet.network.service.configuration import ConfigValue, configured
from cbnet.network.service.node_data import NodePredicates, read_computed_tables
from cbnet.network.service.router_process import serve
from cbnet.network.transport.event_loop import run_router

_GRACE = 2.0  # seconds for routers to stop by themselves


def main() -> None:
    """Execute the commands on standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when this process ends
    # Python has one thread here. The others, which Python 3.12 warns about, belong to OpenBLAS and Arrow, which
    # support forking.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    asyncio.new_event_loop().close()  # imports the modules of the event loop
    empty_table()  # compiles the table that every router starts with
    Launcher().run()


class Launcher:
    """The running routers."""

    def __init__(self) -> None:
        self._pids: dict[int, str] = {}
        self._initial: NodePredicates | None = None
        self._gate: tuple[int, int] | None = None  # a pipe: routers wait until its write end closes
        self._lifeline, self._lifeline_end = os.pipe()  # routers stop when its write end closes
        self._wakeup, self._wakeup_end = os.pipe()
        os.set_blocking(self._wakeup_end, False)
        signal.set_wakeup_fd(self._wakeup_end)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def run(self) -> None:
        """Execute commands until standard input ends."""
        with selectors.DefaultSelector() as selector:
            for fd in (0, self._wakeup):
                selector.register(fd, selectors.EVENT_READ)
            rest = b""
            while True:
                ready = {key.fd for key, _ in selector.select()}
                if self._wakeup in ready:
                    os.read(self._wakeup, 4096)
                    self._reap()
                if 0 in ready:
                    data = os.read(0, 1 << 16)
                    if not data:
                        break
                    *lines, rest = (rest + data).split(b"\n")
                    for line in lines:
                        self._execute(msgspec.json.decode(line))
        self._stop_all()

    def _execute(self, command: dict[str, Any]) -> None:
        match command:
            case {"load": path, "nodes": nodes}:
                self._load(Path(path), nodes)
            case {"start": _}:
                self._start(command)
            case {"gate": position}:
                self._move_gate(position)
            case {"signal": number, "to": name}:
                for pid in (pid for pid, each in self._pids.items() if each == name):
                    os.kill(pid, number)

    def _move_gate(self, position: str) -> None:
        if self._gate is not None:
            for end in self._gate:
                os.close(end)
        self._gate = os.pipe() if position == "shut" else None

    def _pass_gate(self) -> None:
        """Wait until all routers of a group are started."""
        if self._gate is not None:
            read_end, write_end = self._gate
            os.close(write_end)
            os.read(read_end, 1)
            os.close(read_end)

    def _load(self, path: Path, nodes: Sequence[str]) -> None:
        try:
            self._initial = NodePredicates.read(path, nodes)
        except CbnetError as error:
            emit({"failed": "", "why": str(error)})

    def _start(self, command: dict[str, Any]) -> None:
        settings = msgspec.convert(command["start"], Settings)
        if "http" in command:
            with suppress(ImportError):  # the router reports it
                import_module("cbnet.network.http.http_server")  # once, for all routers
        gc.freeze()  # memory stays shared with the new process: its garbage collector does not touch it
        pid = os.fork()
        if pid:
            self._pids[pid] = settings.name
            return
        code = 1
        try:
            os.close(self._lifeline_end)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._pass_gate()
            code = _become_router(settings, command, self._lifeline, self._initial)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _reap(self) -> None:
        for pid in list(self._pids):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                emit({"ended": self._pids.pop(pid), "code": os.waitstatus_to_exitcode(status)})

    def _stop_all(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in self._pids:
                os.kill(pid, number)
                os.kill(pid, signal.SIGCONT)
            end = time.monotonic() + _GRACE
            while self._pids and time.monotonic() < end:
                time.sleep(0.01)
                self._pids = {pid: name for pid, name in self._pids.items() if not os.waitpid(pid, os.WNOHANG)[0]}


def _become_router(settings: Settings, command: dict[str, Any], lifeline: int, initial: NodePredicates | None) -> int:
    """Run a router in this process; return its exit code."""
    values = vars(settings) | {"drain": 0.0} | command.get("security", {})
    values |= {key: command[key] for key in ("listen", "neighbours", "journal", "http") if key in command}

    def started(*_: object) -> None:
        emit({"listening": settings.name, "pid": os.getpid()})

    def data() -> NodeData:
        if initial is None:
            return NodeData()
        if "table" not in command:
            return NodeData(initial.of(settings.name))
        tables = read_computed_tables(Path(command["table"]), initial.nodes, settings.tree_count)
        return NodeData(initial.of(settings.name), tables)

    try:
        configuration = configured({key: ConfigValue(value, "launcher") for key, value in values.items()})
        run_router(serve(configuration, on_start=started, lifeline=lifeline, data=data))
    except CbnetError as error:
        emit({"failed": settings.name, "why": str(error)})
        return 1
    return 0


def emit(event: dict[str, Any]) -> None:
    """Write an event in one system call, so that events of several processes do not mix."""
    os.write(1, msgspec.json.encode(event) + b"\n")


if __name__ == "__main__":
    main()
