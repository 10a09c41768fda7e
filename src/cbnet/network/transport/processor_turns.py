"""Turns of processor time: a payer is served for a short time, then all others are.

Payers are accounts, the hosts of clients without one, and neighbours. In one iteration of the event loop each gets at
most `TIME_SLICE` seconds times its weight, over all its links and HTTP connections; what it has beyond that waits for
the next iterations, in which all others get their turns. Nothing waits while nobody else has work.

    iteration   1                  2                  3
    payer a     link 1  link 2     link 3  link 4     link 1 …
    payer b     link 9                                link 9
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

TIME_SLICE: Final = 0.005  # seconds of processor time of a payer with weight 1, in one iteration of the event loop


class _Turn:
    """The processor time that a payer has used, and what waits for the next iteration."""

    def __init__(self, length: float) -> None:
        self.length = length
        self.used = 0.0  # seconds beyond earlier turns
        self.waiting: deque[Callable[[], None]] = deque()


class ProcessorTurns:
    """The turns of all payers of a router, in the running event loop."""

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}  # of payers that have used time in this iteration, or more than their turns
        self._loop = asyncio.get_running_loop()

    def has_time(self, payer: str) -> bool:
        """Return whether a payer may be served in this iteration."""
        turn = self._turns.get(payer)
        return turn is None or turn.used < turn.length

    def charge(self, payer: str, weight: int, seconds: float) -> None:
        """Charge processor time to a payer."""
        turn = self._turns.get(payer)
        if turn is None:
            if not self._turns:
                self._loop.call_soon(self._next)
            turn = self._turns[payer] = _Turn(TIME_SLICE * weight)
        turn.used += seconds

    def wait(self, payer: str, resume: Callable[[], None]) -> None:
        """Call `resume` when a payer that has no time now has some, after all that waits already."""
        self._turns[payer].waiting.append(resume)

    def _next(self) -> None:
        """Begin the next iteration: each payer may use the length of a turn again."""
        turns, self._turns = self._turns, {}
        for payer, turn in turns.items():
            turn.used -= turn.length
            if turn.used > 0 or turn.waiting:
                turn.used = max(turn.used, 0.0)
                self._turns[payer] = turn
        if self._turns:
            self._loop.call_soon(self._next)
        for turn in [*self._turns.values()]:
            while turn.waiting and turn.used < turn.length:
                turn.waiting.popleft()()
