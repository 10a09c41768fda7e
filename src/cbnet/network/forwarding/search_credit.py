"""How many combinations of values a router examines: bounded for each message, and for each client and second.

A filter with conditions, or over arrays of objects, is satisfied if some combination of values satisfies it, and a
message with thousands of values has more combinations than anybody can examine. A number of them (`pivot_table`) is
examined for each message at no cost. More are charged to the client that subscribes, at its router: at most `CLIENT`
for a message, and `RATE` in a second. Neighbours have `NEIGHBOURS` for a message, all together.
A test of an item of an array by a quantifier is charged as several: see `matching.item_payment`.

Beyond that a filter is *undecided*. To a neighbour the message is sent as if it matched; to a client it is not, and the
client receives a notice that it may be lost. Others are not affected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from cbnet.network.link.context import Reserve, RouterContext

CLIENT: Final = 20_000  # combinations for a message, of all subscriptions of a client: they take about 2 ms
RATE: Final = 500_000  # a second, of all subscriptions of a client: less than a tenth of a processor
NEIGHBOURS: Final = 10_000  # for a message, of all filters of neighbours, or of homes of durable subscriptions
UNDECIDED: Final = "a message has too many combinations of values to decide whether it matches"
_MAX_RESERVES: Final = 10_000  # clients


class MessageCredit:
    """A number of combinations for one message and all filters together."""

    def __init__(self, left: int = NEIGHBOURS) -> None:
        self._left = left

    def limit(self, _: object) -> int:
        """Return how many may be examined now."""
        return max(0, self._left)

    def charge(self, _: object, count: int) -> None:
        """Count those that were examined."""
        self._left -= count


class FilterCredit:
    """The credit of the filters of a forwarding table."""

    def __init__(self, context: RouterContext, payer_of: Callable[[int], str]) -> None:
        """Initialise; payer_of: returns who pays for the filters of a slot, empty: neighbours."""
        self._context = context
        self._payer_of = payer_of
        self._reserves: dict[str, Reserve] = {}
        self._used = Counter[str]()  # for the present message, by payer

    def begin(self) -> FilterCredit:
        """Begin with a message; return this credit."""
        self._used.clear()
        return self

    def limit(self, slot: int) -> int:
        """Return how many combinations may be examined now for a filter."""
        payer = self._payer_of(slot)
        if not payer:
            return max(0, NEIGHBOURS - self._used[payer])
        left = int(self._reserve(payer).left(RATE, self._context.now))
        return max(0, min(CLIENT - self._used[payer], left))

    def charge(self, slot: int, count: int) -> None:
        """Count those that were examined."""
        payer = self._payer_of(slot)
        self._used[payer] += count
        if payer:
            self._reserve(payer).use(count)

    def _reserve(self, payer: str) -> Reserve:
        reserve = self._reserves.get(payer)
        if reserve is None:
            if len(self._reserves) >= _MAX_RESERVES:
                self._reserves.clear()
            reserve = self._reserves[payer] = Reserve(self._context.now)
            reserve.left(RATE, self._context.now)
        return reserve
