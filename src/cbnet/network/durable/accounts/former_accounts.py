"""Grace period of accounts that do not exist any more: their durable subscriptions end after it.

    removed at a reload, or from the configuration before a start ──► `account_grace` seconds ──► ended
                                                                           │
                                          the account is back: forgotten ◄─┘

The seconds are those for which this router runs and holds the home: the clock of the machine may jump. They are saved
from time to time, so that a restart repeats a small part of them.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from cbnet.errors import InputError
from cbnet.network.durable.durable_registry import DurableRegistry
from cbnet.network.link.context import RouterContext
from cbnet.network.link.links import LinkTable
from cbnet.network.logs import audit_change, log

_SAVED: Final = 600.0  # seconds, at most, between two times that are saved
_SHARE: Final = 50  # of the grace period that a restart may repeat: one in so many


@dataclass
class _Former:
    """An account that does not exist any more."""

    seconds: float  # for which it has not existed
    saved: float  # of these
    since: float  # time up to which they are counted


class FormerAccounts:
    """The accounts of one home's durable subscriptions that do not exist any more."""

    def __init__(self, context: RouterContext, links: LinkTable, registry: DurableRegistry) -> None:
        self._context = context
        self._links = links
        self._registry = registry
        self._all: dict[str, _Former] = {}

    def ends_in(self, account: str) -> float | None:
        """Return the seconds until the subscriptions of an account end; None: they do not."""
        former, grace = self._all.get(account), self._context.settings.account_grace
        if not grace or self._links.access.has_account(account):
            return None
        return max(0.0, grace - (self._registry.former_seconds(account) if former is None else former.seconds))

    def check(self) -> None:
        """Do periodic work."""
        accounts = self._registry.accounts()
        for account in [each for each in self._all if each not in accounts]:
            del self._all[account]  # its last subscription was removed
        for account in accounts:
            if not self._links.access.has_account(account):
                self._count(account)
            elif account in self._all or self._registry.former_seconds(account):
                self._all.pop(account, None)
                self._registry.save_former_seconds(account, 0.0)
                log(logging.INFO, "account exists again", account=account)

    def _count(self, account: str) -> None:
        """Count the time for which an account has not existed; end its subscriptions after the grace period."""
        now, grace = self._context.now, self._context.settings.account_grace
        former = self._all.get(account)
        if former is None:
            former = self._begin(account)
        former.seconds += now - former.since
        former.since = now
        if grace and former.seconds >= grace:
            self._end(account)
        elif former.seconds - former.saved >= min(_SAVED, grace / _SHARE or _SAVED):
            former.saved = former.seconds
            self._registry.save_former_seconds(account, former.seconds)

    def _begin(self, account: str) -> _Former:
        seconds = self._registry.former_seconds(account)
        former = self._all[account] = _Former(seconds, seconds, self._context.now)
        left = self.ends_in(account)
        when = "never: account_grace = 0" if left is None else f"in {left:,.0f} s"
        log(logging.WARNING, "account removed", account=account, durable_subscriptions_end=when)
        return former

    def _end(self, account: str) -> None:
        try:
            ended = self._registry.end(account)
        except InputError:
            return  # the journal cannot be written now
        del self._all[account]
        for name, messages in ended:
            log(logging.WARNING, "durable subscription ended", account=account, name=name, messages=messages)
            audit_change("end", client="", address="", account=account, name=name, messages=messages)
