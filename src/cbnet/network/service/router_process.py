"""Processes that run a router, or a gateway, until a signal stops them.

SIGTERM, SIGINT    drain, then stop; a second signal stops at once
SIGHUP             reload the configuration; log an error if there is no configuration file
lifeline           stop at once: the parent process has exited

The routers of a gateway share one event loop and stop together.

A client with the right `manage` may request a reload, too. All files are read and checked first, in a thread; an error
changes nothing. Then access rights, certificates, limits and neighbours are replaced at once. Peers that the new
configuration allows stay connected. The other keys need a restart: if one of them has changed, nothing is reloaded.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Any, Final

from cbnet.errors import CbnetError, InputError
from cbnet.network import logs
from cbnet.network.announce.announcements import NO_DATA, NodeData
from cbnet.network.link import settings
from cbnet.network.link.context import Send
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.fields import MAX_REASON_LENGTH
from cbnet.network.protocol.frames import Frame, RefusedFrame, Reload, Reloaded, frame_number
from cbnet.network.protocol.operation_frames import MAX_CHANGES
from cbnet.network.protocol.reasons import refusal_code
from cbnet.network.router.clients import no_file
from cbnet.network.router.gateway import Gateway
from cbnet.network.security.access import SECURITY
from cbnet.network.security.record_signatures import PUBLIC_KEYS
from cbnet.network.security.tls import TlsContexts
from cbnet.network.service.configuration import Configuration, ProcessSettings
from cbnet.network.service.gateway_file import GatewayPlan
from cbnet.network.transport.event_loop import wait_first
from cbnet.network.transport.tcp_router import TcpRouter

_GATEWAY_TICK = 0.1  # seconds
RELOADED_KEYS: Final = frozenset((*SECURITY, *settings.RELOADED, "neighbours", "log_level", "drain", "audit"))
_MAX_NAMES: Final = 10  # in the text of a change


async def serve(
    configured: Configuration,
    *,
    on_start: Callable[[Address, Address | None], None],
    lifeline: int | None = None,
    data: Callable[[], NodeData] = NodeData,
    read: Callable[[], list[Configuration]] | None = None,
) -> None:
    """Run a router until SIGTERM or SIGINT.

    on_start: called with its address and that of its HTTP server, when it listens. lifeline: a pipe; when its other end
    closes, the router stops. data: returns the initial data of the node; called once, and not kept. read: to reload the
    configuration.
    """
    drain, stop = _shutdown_events(lifeline)
    router = _router(configured, data())
    await router.start()
    reload = None if read is None else ConfigurationReload([configured], read, [router])
    _on_hangup(router, reload)
    try:
        async with _http_server(router, configured.process) as http:
            on_start(router.address, http)
            notify_systemd("READY=1")
            await drain.wait()
            notify_systemd("STOPPING=1")
            seconds = (configured if reload is None else reload.present[0]).process.drain
            if seconds and not stop.is_set():
                await wait_first(router.drain(seconds), stop.wait())
    finally:
        await router.stop()


async def serve_gateway(
    plan: GatewayPlan, on_start: Callable[[Mapping[str, Address]], None], read: Callable[[], GatewayPlan]
) -> None:
    """Run a gateway until SIGTERM or SIGINT; on_start: called with its addresses, by network; read: to reload it."""
    drain, stop = _shutdown_events(None)
    async with AsyncExitStack() as stack:
        routers: dict[str, TcpRouter] = {}
        for each in plan.sides:
            router = _router(each)
            router.event_log.context = {"network": each.settings.network}
            await router.start()
            stack.push_async_callback(router.stop)
            await stack.enter_async_context(_http_server(router, each.process))
            routers[each.settings.network] = router
        soon = asyncio.get_running_loop().call_soon
        gateway = Gateway(plan.name, list(routers.values()), plan.outside, soon=soon)
        ticking = asyncio.ensure_future(_tick(gateway))
        stack.callback(ticking.cancel)
        reload = ConfigurationReload(plan.sides, lambda: _sides(plan, read), list(routers.values()))
        _on_hangup(next(iter(routers.values())), reload)
        on_start({network: router.address for network, router in routers.items()})
        notify_systemd("READY=1")
        await drain.wait()
        notify_systemd("STOPPING=1")
        seconds = reload.present[0].process.drain
        if seconds and not stop.is_set():
            gateway.leave()
            await wait_first(_drain(list(routers.values()), seconds), stop.wait())


def _router(each: Configuration, data: NodeData = NO_DATA) -> TcpRouter:
    return TcpRouter(each.settings, each.listen, each.neighbours, each.security, data, each.process.journal)


def _sides(plan: GatewayPlan, read: Callable[[], GatewayPlan]) -> list[Configuration]:
    """Read the configurations of a gateway's routers again."""
    after = read()
    for key in ("name", "outside", "networks"):
        old, new = getattr(plan, key), getattr(after, key)
        if old != new:
            raise InputError(f"{key}: {new!r}; the gateway runs with {old!r}", hint="restart the gateway to change it")
    return after.sides


async def _tick(gateway: Gateway) -> None:
    while True:
        gateway.tick()
        await asyncio.sleep(_GATEWAY_TICK)


async def _drain(routers: list[TcpRouter], seconds: float) -> None:
    await asyncio.gather(*(router.drain(seconds) for router in routers))


def _shutdown_events(lifeline: int | None) -> tuple[asyncio.Event, asyncio.Event]:
    """Return an event that requests a drain, and one that requests an immediate stop."""
    loop = asyncio.get_running_loop()
    drain, stop = asyncio.Event(), asyncio.Event()

    def on_signal() -> None:
        (stop if drain.is_set() else drain).set()

    def on_lifeline() -> None:
        assert lifeline is not None
        loop.remove_reader(lifeline)
        stop.set()
        drain.set()

    _handle_signals(("SIGTERM", "SIGINT"), on_signal)
    if lifeline is not None:
        os.set_blocking(lifeline, False)
        loop.add_reader(lifeline, on_lifeline)
    return drain, stop


def _on_hangup(router: TcpRouter, reload: ConfigurationReload | None) -> None:
    """Reload on SIGHUP; log an error if there is no configuration file."""

    def fail() -> None:
        router.event_log.log(logging.ERROR, "reload failed", reason=no_file().summary)

    _handle_signals(("SIGHUP",), fail if reload is None else reload.start)


def _handle_signals(names: Iterable[str], handler: Callable[[], None]) -> None:
    """Call a handler in the event loop on the named signals, as far as the system has them."""
    loop = asyncio.get_running_loop()
    for number in (getattr(signal, name) for name in names if hasattr(signal, name)):
        try:
            loop.add_signal_handler(number, handler)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda _number, _frame: loop.call_soon_threadsafe(handler))


@asynccontextmanager
async def _http_server(router: TcpRouter, process: ProcessSettings) -> AsyncIterator[Address | None]:
    """Serve HTTP, if an address is configured; yield the address."""
    if process.http is None:
        yield None
        return
    try:
        from cbnet.network.http.http_server import HttpServer  # imports packages that are optional
    except ImportError as error:
        raise CbnetError(f"http needs {error.name}: pip install 'cbnet[network]'") from None

    server = HttpServer(router, process.http, origins=process.http_origins, sessions=process.http_connections)
    await server.start()
    router.event_log.log(logging.INFO, "http", address=str(server.address))
    try:
        yield server.address
    finally:
        await server.stop()


def notify_systemd(state: str) -> None:
    """Send the state of this process to systemd, if it runs as a service."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if path:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notice:
            try:
                notice.sendto(state.encode(), "\0" + path[1:] if path.startswith("@") else path)
            except OSError:  # the socket is gone; the router keeps running
                return


# --- reload


class ConfigurationReload:
    """The current configuration of the routers of a process, and a function that reads the next one."""

    def __init__(
        self,
        present: Sequence[Configuration],
        read: Callable[[], Sequence[Configuration]],
        routers: Sequence[TcpRouter],
    ) -> None:
        """Initialise with the configuration of each router."""
        self.present = present
        self._read = read
        self._routers = routers
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        for router in routers:
            router.router.on_reload = partial(self._requested, router)

    async def run(self) -> list[str]:
        """Reload the configuration and return the changes. An `InputError` means that nothing changed."""
        async with self._lock:
            log = self._routers[0].event_log.log
            try:
                planned, contexts, audit = await asyncio.to_thread(self._prepare)
            except InputError as error:
                log(logging.ERROR, "reload failed", reason=error.summary)
                raise
            before, self.present = self.present, planned
            logs.set_level(planned[0].process.log_level)
            await asyncio.to_thread(logs.use_audit_log, audit)
            for router, each, tls in zip(self._routers, planned, contexts, strict=True):
                router.reload(each.settings, each.neighbours, each.security.access, tls)
            changes = [text for pair in zip(before, planned, strict=True) for text in _changes(*pair)]
            log(logging.INFO, "reloaded", changes=changes)
            return changes

    def start(self) -> None:
        """Reload in the background; the result is logged."""
        self._start(self._run_logged())

    async def _run_logged(self) -> None:
        with suppress(InputError):  # it is in the log
            await self.run()

    def _requested(self, router: TcpRouter, link: int, number: int) -> None:
        self._start(self._answer(router, link, number))

    async def _answer(self, router: TcpRouter, link: int, number: int) -> None:
        answer: Frame
        try:
            answer = Reloaded(number, [text[:MAX_REASON_LENGTH] for text in (await self.run())[:MAX_CHANGES]])
        except InputError as error:
            reason = f"{error.summary}; nothing changed"[:MAX_REASON_LENGTH]
            answer = RefusedFrame(frame_number(Reload), number, reason, refusal_code(error))
        router.perform([Send(link, answer)])

    def _start(self, running: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(running)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _prepare(self) -> tuple[Sequence[Configuration], list[TlsContexts], logging.Handler]:
        """Read and check everything; reopen the file of the audit log, as it may have been rotated."""
        planned = self._read()
        for before, after in zip(self.present, planned, strict=True):
            _check_fixed(before, after)
        contexts = [each.security.contexts() for each in planned]
        return planned, contexts, logs.open_audit_log(planned[0].process.audit, planned[0].settings.name)


def _check_fixed(before: Configuration, after: Configuration) -> None:
    """Raise an `InputError` if a key has changed that needs a restart."""
    for key, each in after.values.items():
        if key not in RELOADED_KEYS and each.value != before.values[key].value:
            raise InputError(
                f"{key} is {each.shown!r} in {each.source} and {before.values[key].shown!r} in the running router",
                hint=f"restart the router to change {key}, or restore it",
            )


def _changes(before: Configuration, after: Configuration) -> Iterator[str]:
    """Yield a text for each key that has changed."""
    old, new = before.security.access, after.security.access
    for key, former, present in (
        ("clients", old.clients, new.clients),
        (PUBLIC_KEYS, old.signatures.public_keys, new.signatures.public_keys),
    ):
        if former != present:
            yield f"{key}: {_difference(former or {}, present or {})}"
    if after.security.tls is not None:
        yield "certificates: read again, for new connections"
    for key, (value, _) in after.values.items():
        former = before.values[key].value
        if value == former or key in ("clients", PUBLIC_KEYS):
            continue
        if isinstance(value, dict):
            yield f"{key}: {_difference(former, value)}"
        else:
            yield f"{key}: {value!r} instead of {former!r}"


def _difference(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    changed = [name for name in after if name in before and before[name] != after[name]]
    parts = ("added", after.keys() - before.keys()), ("removed", before.keys() - after.keys()), ("changed", changed)
    return "; ".join(f"{what} {_names(names)}" for what, names in parts if names) or "none any more"


def _names(names: Collection[str]) -> str:
    shown = sorted(names)[:_MAX_NAMES]
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(names) > len(shown) else "")
