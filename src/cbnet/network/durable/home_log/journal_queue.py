"""Queue of a router's journal operations, and of the calls that wait until they are on disk.

If the journal cannot be written or does not answer, or its disk is full, the router refuses further messages, with the
reason. So the queue is bounded.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from cbnet.network.durable.home_log.journal import Append, Committed, Journal, Operation
from cbnet.network.link.context import RouterContext
from cbnet.network.logs import log
from cbnet.network.protocol.reasons import ReasonCode, Refusal

MAX_UNWRITTEN = 1 << 26  # bytes of operations that wait for the disk
OVERHEAD = 1_000  # bytes of an operation without the content of its message: measured in turns of one message
JOURNAL_STATES: Final = ("writable", "short", "stalled", "standby")
MAX_SILENCE = 5.0  # seconds without an answer from the journal after which messages are refused


class _Submit:
    """The operations of one turn."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.calls: list[Callable[[], None]] = []
        self.bytes = 0
        self.time = 0.0  # when they were submitted


class JournalQueue:
    """The operations of one router."""

    def __init__(self, context: RouterContext, journal: Journal) -> None:
        self._context = context
        self._journal = journal
        self._turn = _Submit()
        self._endings: dict[Callable[[], None], None] = {}  # calls at the end of this turn
        self._submitted: deque[_Submit] = deque()
        self._unwritten = 0  # bytes
        self._stalled = ""  # why the journal cannot be written
        self.shortage = ""  # why it takes no more messages, but all else
        self._answered = 0.0  # time of its last answer
        self._silence = 0.0  # seconds without an expected answer; 0 if at most `MAX_SILENCE`

    def time(self) -> float:
        """Return the time of the wall clock, in seconds."""
        return self._journal.time()

    # --- problems

    @property
    def problem(self) -> str:
        """Why the journal cannot be used, or not for messages; empty if it can."""
        if self.stall:
            return self.stall
        return f"the journal takes no messages: {self.shortage}" if self.shortage else ""

    @property
    def state(self) -> str:
        """One of `JOURNAL_STATES`."""
        return "stalled" if self.stall else "short" if self.shortage else "writable"

    @property
    def stall(self) -> str:
        """Why nothing can be written now; empty if it can."""
        if self._stalled:
            return f"the journal cannot be written: {self._stalled}"
        return f"the journal has not answered for {self._silence:.0f} s" if self._silence else ""

    def check_writable(self) -> None:
        """Raise a `Refusal` if a change cannot be written now: its client would wait for nothing."""
        if self.stall:
            raise Refusal(self.stall, ReasonCode.UNWRITABLE, hint="try again when its disk can be written")

    @property
    def refusal(self) -> str:
        """Why no further message can be stored now; empty if it can."""
        if self.problem:
            return self.problem
        return "the journal is too slow" if self._unwritten > MAX_UNWRITTEN else ""

    def check(self) -> None:
        """Check whether the journal answers."""
        now = self._context.now
        silence = now - max(self._answered, self._submitted[0].time) if self._submitted else 0.0
        was_silent, self._silence = bool(self._silence), silence if silence > MAX_SILENCE else 0.0
        if self._silence and not was_silent and not self._stalled:
            log(logging.ERROR, "journal silent", reason=self.problem, hint="check the disk")

    def stalled(self, reason: str) -> None:
        """Record that the journal cannot be written now."""
        self._stalled = reason

    # --- operations

    def add(self, operation: Operation) -> None:
        """Queue an operation, to be submitted at the end of this turn."""
        self._turn.operations.append(operation)
        size = OVERHEAD
        if type(operation) is Append:
            size = sum(len(entry.content) for entry in operation.entries) + OVERHEAD * len(operation.entries)
        self._turn.bytes += size
        self._unwritten += size

    def after(self, call: Callable[[], None]) -> None:
        """Call a function once all operations queued so far are on disk; at once if they are."""
        if self._turn.operations or self._submitted:
            self._turn.calls.append(call)
        else:
            call()

    def before_submit(self, call: Callable[[], None]) -> None:
        """Call a function once, at the end of this turn: it adds the operations for changes made in many steps."""
        self._endings[call] = None

    def finish_turn(self) -> None:
        """Submit the operations of this turn."""
        while self._endings:  # a call may add another one
            endings, self._endings = self._endings, {}
            for call in endings:
                call()
        turn = self._turn
        if turn.operations:
            self._turn = _Submit()
            turn.time = self._context.now
            self._submitted.append(turn)
            self._journal.submit(turn.operations)
        elif turn.calls:
            calls, turn.calls = turn.calls, []
            self._submitted[-1].calls += calls

    def committed(self, event: Committed) -> None:
        """Make the calls that wait for operations that are now on disk."""
        if self._silence and not self._stalled:
            log(logging.WARNING, "journal answers again", seconds=round(self._silence))
        self._stalled, self._silence, self._answered = "", 0.0, self._context.now
        done = [self._submitted.popleft() for _ in range(event.submits)]
        for submit in done:
            self._unwritten -= submit.bytes
            for call in submit.calls:
                call()
