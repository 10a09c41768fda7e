"""Grace period of accounts that do not exist any more: their durable subscriptions end after it.

    removed at a reload, or from the configuration before a start ──► `account_grace` seconds ──► ended
                                                                           │
                                          the account is back: forgotten ◄─┘

The seconds are those for which this router runs and holds the home: the clock of the machine may jump. They are saved
from time to time, so that a restart repeats a small part of them.
"""

from __future__ import annotations

import logging
from typing import Final

from cbnet.errors import InputError
from cbnet.network.durable.durable_registry import DurableRegistry
from cbnet.network.durable.home_log.cursor import AccountUse
from cbnet.network.link.context import RouterContext
from cbnet.network.link.links import LinkTable
from cbnet.network.logs import audit_change, log

_SAVED: Final = 600.0  # seconds, at most, between two times that are saved
_SHARE: Final = 50  # of the grace period that a restart may repeat: one in so many


class FormerAccounts:
    """The accounts of one home's durable subscriptions that do not exist any more."""

    def __init__(self, context: RouterContext, links: LinkTable, registry: DurableRegistry) -> None:
        self._context = context
        self._links = links
        self._registry = registry

    def ends_in(self, account: str) -> float | None:
        """Return the seconds until the subscriptions of an account end; None: they do not."""
        grace = self._context.settings.account_grace
        if not grace or self._links.access.has_account(account):
            return None
        return max(0.0, grace - self._registry.use(account).former_seconds)

    def check(self) -> None:
        """Do periodic work."""
        for use in self._registry.uses():
            if not use.subscriptions:
                use.since = None  # the last one was removed
            elif not self._links.access.has_account(use.account):
                self._count(use)
            elif use.since is not None or use.former_seconds:
                use.since, use.former_seconds = None, 0.0
                self._registry.save_former_seconds(use)
                log(logging.INFO, "account exists again", account=use.account)

    def _count(self, use: AccountUse) -> None:
        """Count the time for which an account has not existed; end its subscriptions after the grace period."""
        now, grace = self._context.now, self._context.settings.account_grace
        if use.since is None:
            use.since = now
            when = f"in {self.ends_in(use.account):,.0f} s" if grace else "never: account_grace = 0"
            log(logging.WARNING, "account removed", account=use.account, durable_subscriptions_end=when)
        use.former_seconds += now - use.since
        use.since = now
        if grace and use.former_seconds >= grace:
            self._end(use)
        elif use.former_seconds - use.saved_seconds >= min(_SAVED, grace / _SHARE or _SAVED):
            self._registry.save_former_seconds(use)

    def _end(self, use: AccountUse) -> None:
        try:
            ended = self._registry.end(use.account)
        except InputError:
            return  # the journal cannot be written now
        use.since, use.former_seconds = None, use.saved_seconds
        for name, messages in ended:
            log(logging.WARNING, "durable subscription ended", account=use.account, name=name, messages=messages)
            audit_change("end", client="", address="", account=use.account, name=name, messages=messages)
