"""Memory of the messages that wait for homes, and the shares that nobody may exceed.

all messages               MAX_BYTES
those for one home         a quarter: one that is away excludes only messages that it must store
those of one account       a half; clients without accounts have no such share
"""

from __future__ import annotations

from collections.abc import Iterable

from cbnet.errors import InputError

MAX_BYTES = 1 << 28  # about: of payloads, and an overhead for each message


class WaitingBytes:
    """The bytes of the messages that wait at one router."""

    def __init__(self) -> None:
        self._limit = MAX_BYTES
        self.all = 0
        self._homes: dict[str, int] = {}
        self._accounts: dict[str, int] = {}

    def add(self, size: int, account: str, homes: Iterable[str]) -> None:
        """Count a message of an account that waits for homes; raise an `InputError` if it is too large for a share."""
        if self.all + size > self._limit:
            raise _too_many("messages wait for durable subscriptions", self.all)
        own = self._accounts.get(account, 0)
        if account and own + size > self._limit // 2:
            raise _too_many("messages of your account wait for durable subscriptions", own)
        for home in homes:
            present = self._homes.get(home, 0)
            if present + size > self._limit // 4:
                raise _too_many(f"messages wait for durable subscriptions at router {home}", present)
        self.all += size
        if account:
            self._accounts[account] = own + size
        for home in homes:
            self._homes[home] = self._homes.get(home, 0) + size

    def settle(self, size: int, home: str) -> None:
        """Handle that a message does not wait for a home any more."""
        _subtract(self._homes, home, size)

    def remove(self, size: int, account: str) -> None:
        """Handle that a message does not wait for any home."""
        self.all -= size
        if account:
            _subtract(self._accounts, account, size)


def _subtract(counts: dict[str, int], key: str, size: int) -> None:
    left = counts[key] - size
    if left:
        counts[key] = left
    else:
        del counts[key]


def _too_many(what: str, size: int) -> InputError:
    return InputError(f"too many {what}: {size:,} bytes", hint="publish again later, or less at once")
