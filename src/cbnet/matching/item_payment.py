"""Payment for tests of the items of arrays, which Python makes: part of what a router examines for a message.

    free      FREE values of items for a message, whoever uses them: about a millisecond
    paid      more, by the rules that use the attribute, one after the other, as far as their credit lasts

Beyond that the attribute is undecided, and nobody else is affected. A value costs as much as COST combinations of
values in a kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from cbnet.language.message import Leaf
from cbnet.language.search_budget import SearchBudget

FREE = 1_000  # values for each message
COST = 10  # an item and a constraint take about 1 µs, a combination 0.1 µs


class MatchingCredit(Protocol):
    """How many combinations of values a router examines for each rule."""

    def limit(self, rule: Any) -> int:
        """Return how many may be examined now for a filter of a rule."""

    def charge(self, rule: Any, count: int) -> None:
        """Count those that were examined."""


class ItemPayment:
    """The payment for the computed attributes of one message."""

    def __init__(self, credit: MatchingCredit) -> None:
        self.budget = SearchBudget(FREE, self._pay)
        self.known: dict[str, tuple[Leaf, ...] | None] = {}  # values of attributes, paid once
        self._credit = credit
        self._exhausted: set[Any] = set()  # rules
        self._rules: Iterator[Any] = iter(())  # that use the attribute, and have not paid
        self._payer: Any = None

    def begin(self, rules: Iterable[Any]) -> bool:
        """Begin with an attribute that some rules use; return whether it may be examined at all."""
        self._rules, self._payer = iter(rules), None
        return self.budget.left > 0 or self._left() > 0

    def _left(self) -> int:
        """Return how many values the next rule that can pay may still examine; 0: no rule can."""
        while True:
            if self._payer is not None and self._payer not in self._exhausted:
                left = self._credit.limit(self._payer) // COST
                if left > 0:
                    return left
                self._exhausted.add(self._payer)
            self._payer = next(self._rules, None)
            if self._payer is None:
                return 0

    def _pay(self, count: int) -> int:
        """Charge the rules that use the attribute; return the number, or 0 if they cannot pay for it all."""
        paid = 0
        while paid < count and (left := self._left()):
            part = min(left, count - paid)
            self._credit.charge(self._payer, part * COST)
            paid += part
        return count if paid == count else 0
