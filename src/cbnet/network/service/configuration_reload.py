"""Reload of the configuration of running routers: on SIGHUP, or at the request of a client with the right `manage`.

All files are read and checked first, in a thread; an error changes nothing. Then access rights, certificates, limits
and neighbours are replaced at once. Peers that the new configuration allows stay connected. The other keys need a
restart: if one of them has changed, nothing is reloaded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Final

from cbnet.errors import InputError
from cbnet.network import logs
from cbnet.network.link import settings
from cbnet.network.link.context import Send
from cbnet.network.protocol.fields import MAX_REASON_LENGTH
from cbnet.network.protocol.frames import Frame, RefusedFrame, Reload, Reloaded, frame_number
from cbnet.network.protocol.operation_frames import MAX_CHANGES
from cbnet.network.protocol.reasons import refusal_code
from cbnet.network.security.access import SECURITY
from cbnet.network.security.record_signatures import PUBLIC_KEYS
from cbnet.network.security.tls import TlsContexts
from cbnet.network.service.configuration import Configuration
from cbnet.network.transport.tcp_router import TcpRouter

RELOADED_KEYS: Final = frozenset((*SECURITY, *settings.RELOADED, "neighbours", "log_level", "drain", "audit"))
_MAX_NAMES: Final = 10  # in the text of a change


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
            router.router.on_reload = self._handler(router)

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
        try:
            await self.run()
        except InputError:  # it is in the log
            return

    def _handler(self, router: TcpRouter) -> Callable[[int, int], None]:
        def requested(link: int, number: int) -> None:
            self._start(self._answer(router, link, number))

        return requested

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
