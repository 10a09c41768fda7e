"""How many values a search may examine before it is undecided whether a message matches."""

from __future__ import annotations

from collections.abc import Callable

from cbnet.errors import UndecidedError

MAX_EXAMINED = 100_000  # values


class SearchBudget:
    """A number of values, which searches in the items of arrays share."""

    __slots__ = ("_full", "_more", "left")

    def __init__(self, left: int, more: Callable[[int], int] | None = None, *, is_renewed: bool = False) -> None:
        """Initialise; more: called with the number of values that are missing, returns how many it adds.

        is_renewed: for each attribute of a message.
        """
        self.left, self._more = left, more
        self._full = left if is_renewed else None

    def begin(self) -> None:
        """Begin with another attribute."""
        if self._full is not None:
            self.left = self._full

    def spend(self, count: int) -> None:
        """Count values before they are examined; raise UndecidedError if these are too many."""
        missing = count - self.left
        if missing > 0 and self._more is not None:
            self.left += self._more(missing)
        if count > self.left:
            raise UndecidedError((), (), MAX_EXAMINED)
        self.left -= count
