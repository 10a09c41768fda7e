"""Memory limits of the messages that wait for homes.

all messages               MAX_BYTES
those for one home         a quarter: a home that is away blocks only messages that it must store
those of one account       a half; clients without accounts have no such limit
"""

from __future__ import annotations

from collections.abc import Iterable

from cbnet.errors import InputError

MAX_BYTES = 1 << 28  # approximate: payloads, and an overhead for each message


class WaitingBytes:
    """The bytes of the messages that wait at one router."""

    def __init__(self) -> None:
        self._limit, self._home_limit, self._account_limit = MAX_BYTES, MAX_BYTES // 4, MAX_BYTES // 2
        self.all = 0
        self._homes: dict[str, int] = {}
        self._accounts: dict[str, int] = {}

    def add(self, size: int, account: str, homes: Iterable[str]) -> None:
        """Count a message of an account that waits for homes; raise an `InputError` if it would exceed a limit."""
        if self.all + size > self._limit:
            raise _too_many("messages wait for durable subscriptions", self.all)
        for home in homes:
            present = self._homes.get(home, 0)
            if present + size > self._home_limit:
                raise _too_many(f"messages wait for durable subscriptions at router {home}", present)
        if account:
            own = self._accounts.get(account, 0)
            if own + size > self._account_limit:
                raise _too_many("messages of your account wait for durable subscriptions", own)
            self._accounts[account] = own + size
        self.all += size
        for home in homes:
            self._homes[home] = self._homes.get(home, 0) + size

    def settle(self, size: int, home: str) -> None:
        """Release the share of a home that a message no longer waits for."""
        left = self._homes[home] - size
        if left:
            self._homes[home] = left
        else:
            del self._homes[home]

    def remove(self, size: int, account: str) -> None:
        """Release the share of a message that no longer waits for any home."""
        self.all -= size
        if account:
            left = self._accounts[account] - size
            if left:
                self._accounts[account] = left
            else:
                del self._accounts[account]


def _too_many(what: str, size: int) -> InputError:
    return InputError(f"too many {what}: {size:,} bytes", hint="publish again later, or less at once")
