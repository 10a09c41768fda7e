"""Messages of durable publishers that a home has refused: further copies of them are refused as well.

The publisher has received the refusal, so a copy still in flight must not be stored when there is room again. Kept in
memory, and bounded: beyond `MAX_REFUSED` the oldest are forgotten.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

MAX_REFUSED: Final = 20_000  # about 300 bytes each


class RefusedMessages:
    """The messages that one home has refused."""

    def __init__(self) -> None:
        self._problems: OrderedDict[tuple[int, int], str] = OrderedDict()  # by publisher and number, oldest first
        self._numbers: dict[int, set[int]] = {}  # by publisher

    def __len__(self) -> int:
        return len(self._problems)

    def problem(self, publisher: int, number: int) -> str:
        """Return why a message was refused; empty if it was not."""
        return self._problems.get((publisher, number), "")

    def add(self, publisher: int, number: int, problem: str) -> None:
        """Record that a message was refused."""
        self._problems[publisher, number] = problem
        self._numbers.setdefault(publisher, set()).add(number)
        if len(self._problems) > MAX_REFUSED:
            oldest, forgotten = next(iter(self._problems))
            self._forget(oldest, [forgotten])

    def advance(self, publisher: int, floor: int) -> None:
        """Forget the messages of a publisher below its floor: copies of them are not stored in any case."""
        numbers = self._numbers.get(publisher)
        if numbers is not None:
            self._forget(publisher, [number for number in numbers if number < floor])

    def _forget(self, publisher: int, numbers: Iterable[int]) -> None:
        for number in numbers:
            del self._problems[publisher, number]
            self._numbers[publisher].discard(number)
        if not self._numbers[publisher]:
            del self._numbers[publisher]
