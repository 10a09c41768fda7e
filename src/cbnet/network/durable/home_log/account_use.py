"""Use of a home by one account: what its durable subscriptions keep, and its quotas.

A message counts once for each subscription of the account that keeps it. Each of them compares the quotas before it
keeps a message, so they can be exceeded by as many messages as there are subscriptions that match one.
"""

from __future__ import annotations

from cbnet.network.security.rights import ALL_RIGHTS, Rights


class AccountUse:
    """The durable subscriptions of one account at a home, together."""

    __slots__ = ("account", "bytes", "former_seconds", "messages", "rights", "saved_seconds", "since", "subscriptions")

    def __init__(self, account: str = "", rights: Rights = ALL_RIGHTS) -> None:
        """Initialise; rights: of the account, with its quotas."""
        self.account = account
        self.rights = rights
        self.subscriptions = 0
        self.messages = 0
        self.bytes = 0  # of their contents
        self.former_seconds = 0.0  # for which the account has not existed
        self.saved_seconds = 0.0  # of these, on disk
        self.since: float | None = None  # time up to which they are counted; None: the account exists, as far as known

    def add(self, messages: int, size: int) -> None:
        """Count further messages, or, below 0, messages that are gone; size: of their contents."""
        self.messages += messages
        self.bytes += size

    def has_room(self, messages: int, size: int) -> bool:
        """Return whether further messages fit the quotas; size: of their contents."""
        rights = self.rights
        fits = rights.durable_messages is None or self.messages + messages <= rights.durable_messages
        return fits and (rights.durable_bytes is None or self.bytes + size <= rights.durable_bytes)

    @property
    def refusal(self) -> str:
        """The reason to refuse a message for which there is no room."""
        return f"{self.cause} are used up: {self.messages:,} messages, {self.bytes:,} bytes"

    @property
    def cause(self) -> str:
        """The cause of losses; always the same text, so that losses are merged."""
        of = f" of account {self.account!r}" if self.account else ""
        return f"the quotas{of} for durable subscriptions"
