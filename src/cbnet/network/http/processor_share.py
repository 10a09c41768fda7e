"""The share of an HTTP client in the processor time of its router.

    bytes ──► parsed ──► a task for each request ──► its steps, from one `await` to the next
                └────────────────┴── charged to the payer, and served in its turns (`processor_turns`)

What takes long is done in a thread, and charged too. The payer of a connection is its host, and from its first request
with a valid token or certificate on the account, together with all other links and connections of the account.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextvars import ContextVar
from time import thread_time
from types import coroutine
from typing import Any, Final, ParamSpec, TypeVar

from starlette.types import ASGIApp, Receive, Scope, Send

from cbnet.network.link.link import Link
from cbnet.network.transport.processor_turns import ProcessorTurns

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")
_present: Final[ContextVar[ProcessorShare]] = ContextVar("the share of the client for whom a task runs")


class ProcessorShare:
    """The payer of one HTTP connection, for whom its work is done."""

    def __init__(self, turns: ProcessorTurns, host: str) -> None:
        self._turns = turns
        self._payer, self._weight = f"host {host}", 1

    def belong_to(self, link: Link) -> None:
        """Charge the client of a link from now on."""
        self._payer, self._weight = link.payer, link.processor_weight

    @property
    def has_time(self) -> bool:
        """Whether work may be done in this iteration of the event loop."""
        return self._turns.has_time(self._payer)

    def wait(self, resume: Callable[[], None]) -> None:
        """Call `resume` when there is time again."""
        self._turns.wait(self._payer, resume)

    def call(self, work: Callable[[], Result]) -> Result:
        """Do some work now."""
        began = thread_time()
        try:
            return work()
        finally:
            self.charge(thread_time() - began)

    def charge(self, seconds: float) -> None:
        """Charge processor time to the payer."""
        self._turns.charge(self._payer, self._weight, seconds)

    async def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine, each step of it in a turn."""
        _present.set(self)
        return await self._steps(work)

    @coroutine
    def _steps(self, work: Coroutine[Any, Any, Result]) -> Generator[Any, Any, Result]:
        error: BaseException | None = None
        while True:
            try:
                while not self.has_time:
                    yield from self._turn()
            except BaseException as raised:  # such as a cancellation, which `work` handles
                error = raised
            began = thread_time()
            try:
                awaited = work.send(None) if error is None else work.throw(error)
            except StopIteration as end:
                result: Result = end.value
                return result
            finally:
                error = None  # whose traceback refers to this frame
                self.charge(thread_time() - began)
            try:
                yield awaited
            except BaseException as raised:
                error = raised

    def _turn(self) -> Generator[Any, None, None]:
        """Return the next turn, as an awaitable."""
        turn = asyncio.get_running_loop().create_future()
        self.wait(lambda: None if turn.done() else turn.set_result(None))
        return turn.__await__()


async def in_thread(
    call: Callable[Parameters, Result], *arguments: Parameters.args, **options: Parameters.kwargs
) -> Result:
    """Call a function in a thread, for the client whose task this is, and charge the time."""
    share, took = _present.get(), 0.0

    def timed() -> Result:
        nonlocal took
        began = thread_time()
        try:
            return call(*arguments, **options)
        finally:
            took = thread_time() - began

    try:
        return await asyncio.to_thread(timed)
    finally:
        share.charge(took)


class InTurns:
    """Middleware that serves each request, and each WebSocket, in the turns of its client."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        share: ProcessorShare = scope["state"]["connection"].share
        await share.run(self._serve(scope, receive, send))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
