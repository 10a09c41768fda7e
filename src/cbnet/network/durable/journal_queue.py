"""Operations of a router on their way to its journal, and the calls that wait until they are on disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from cbnet.network.durable.journal import Append, Committed, Journal, Operation, ReadResult

MAX_UNWRITTEN = 1 << 26  # bytes of messages that wait for the disk


class _Submit:
    """The operations of one turn."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.calls: list[Callable[[], None]] = []
        self.bytes = 0


class JournalQueue:
    """The operations of one router."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._turn = _Submit()
        self._submitted: deque[_Submit] = deque()
        self._unwritten = 0  # bytes
        self.problem = ""  # why the journal cannot be written

    def time(self) -> float:
        """Return the time of the wall clock, in seconds."""
        return self._journal.time()

    @property
    def refusal(self) -> str:
        """Why no further message is stored now; empty if messages are."""
        if self.problem:
            return self.problem
        return "the journal is too slow" if self._unwritten > MAX_UNWRITTEN else ""

    def add(self, operation: Operation) -> None:
        """Perform an operation at the end of this turn."""
        self._turn.operations.append(operation)
        if type(operation) is Append:
            self._turn.bytes += len(operation.entry.content)
            self._unwritten += len(operation.entry.content)

    def after(self, call: Callable[[], None]) -> None:
        """Call a function when all operations so far are on disk; at once if they are."""
        if self._turn.operations or self._submitted:
            self._turn.calls.append(call)
        else:
            call()

    def finish_turn(self) -> None:
        """Submit the operations of this turn."""
        turn = self._turn
        if turn.operations:
            self._turn = _Submit()
            self._submitted.append(turn)
            self._journal.submit(turn.operations)
        elif turn.calls:
            calls, turn.calls = turn.calls, []
            self._submitted[-1].calls += calls

    def committed(self, event: Committed, on_read: Callable[[ReadResult], None]) -> None:
        """Handle what is on disk: make the calls that wait for it."""
        self.problem = ""
        done = [self._submitted.popleft() for _ in range(event.submits)]
        for result in event.results:
            on_read(result)
        for submit in done:
            self._unwritten -= submit.bytes
            for call in submit.calls:
                call()
