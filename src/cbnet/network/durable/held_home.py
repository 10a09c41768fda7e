"""What a router has while it holds a home: created from the journal when it takes the home, dropped when it loses it.

queue ──► log ──► history ──► replays ──► followers
            └──► home ──► registry
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from msgspec.structs import replace

from cbnet.network.announce.announcements import Announcements
from cbnet.network.durable.durable_registry import DurableRegistry
from cbnet.network.durable.former_accounts import FormerAccounts
from cbnet.network.durable.histories.followers import Followers
from cbnet.network.durable.histories.history import open_history
from cbnet.network.durable.histories.replays import Replays
from cbnet.network.durable.home import Home
from cbnet.network.durable.home_log import journal
from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.durable.home_log.log import Log
from cbnet.network.durable.journal_review import JournalReview
from cbnet.network.durable.records.home_records import HomeRecords
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.protocol.frames import AccountField, Stored
from cbnet.network.protocol.reasons import ReasonCode


class HeldHome:
    """The home that one router holds."""

    def __init__(
        self,
        core: RouterCore,
        announcements: Announcements,
        records: HomeRecords,
        opened: journal.OpenJournal,
        answer: Callable[[Stored], None],
    ) -> None:
        """Take the home; answer: sends the answer for messages to the router where they were published."""
        self._core = core
        context = core
        self.records = records
        self.journal, state = opened
        self._backups: dict[int, Callable[[journal.BackedUp], None]] = {}  # that are being made
        self._backup_ids = count(1)
        self.queue = queue = JournalQueue(context, self.journal)
        records.hold(queue, state.id, state.homes)
        self._log = log = Log(queue, state)
        saved = next((each for each in state.subscriptions if each.id == journal.HISTORY_ID), None)
        history = open_history(context, queue, log, state.id, saved)
        replays = None if history is None else Replays(context, history, log)
        self.followers = None if replays is None else Followers(context, replays)
        self.home = Home(context, queue, log, state.windows.values(), answer)
        self.registry = DurableRegistry(core, announcements, self.home, records, queue, log, state, replays)
        self.review = JournalReview(context, self.home, records, self.registry, queue)
        self.former_accounts = FormerAccounts(context, core.links, self.registry)

    def journalled(
        self, event: journal.Committed | journal.ReadResult | journal.Stalled | journal.Shortage | journal.BackedUp
    ) -> None:
        """Handle an event of the journal."""
        if isinstance(event, journal.Stalled):
            self.queue.stalled(event.reason)
        elif isinstance(event, journal.Shortage):
            self.queue.shortage = event.reason
        elif isinstance(event, journal.ReadResult):
            self._log.loaded(event, self._core.now)
        elif isinstance(event, journal.BackedUp):
            self._backups.pop(event.id)(event)
        else:
            self.queue.committed(event)

    def back_up(self, name: str, call: Callable[[journal.BackedUp], None]) -> None:
        """Back up what is in the journal after this turn, and call a function with the result."""
        self.queue.finish_turn()
        id = next(self._backup_ids)
        self._backups[id] = call
        self.journal.back_up(id, name)

    def account_status(self, account: str) -> AccountField:
        """Return what the subscriptions of an account keep, its quotas, and when they end."""
        return replace(self.registry.account_status(account), ends_in=self.former_accounts.ends_in(account))

    def check(self) -> None:
        """Do periodic work."""
        self.queue.check()
        self.home.check()
        self.registry.check()
        self.review.check()
        self.former_accounts.check()
        if self.followers is not None:
            self.followers.replays.run_all()

    def finish_turn(self) -> None:
        """Submit the operations of this turn to the journal."""
        self.home.finish_turn()
        self.queue.finish_turn()

    def drop(self) -> None:
        """End: the router has lost the home. Its clients reconnect, and find the router that holds it."""
        self.journal.release()
        self.records.release()
        self.registry.close()
        links = {*self.registry.links, *(() if self.followers is None else self.followers.links)}
        reason = f"this router does not hold the home {self._core.home} any more"
        for link in sorted(links):
            self._core.links.shut(link, reason, ReasonCode.OTHER_HOME)
