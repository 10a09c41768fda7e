"""Durable subscriptions of one router, and the acknowledged publishing of its clients.

    publications ──► forwarder ──► home ──► journal       messages on their way to the disk of each home
         ▲                          │
         └────────── Stored ────────┘
    registry ──► home records ──► all routers             the set of homes
    log ──► history ──► replays ──► replay subscriptions, and new durable ones that begin in the past

A router without a journal is not a home, but it knows the homes, and its clients can publish.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import accumulate, takewhile

from cbnet.errors import InputError
from cbnet.network.announce.announcements import Announcements
from cbnet.network.announce.filter_counts import NO_LOAD, FilterLoad
from cbnet.network.durable.durable_registry import DurableRegistry
from cbnet.network.durable.followers import Followers
from cbnet.network.durable.history import no_history, open_history
from cbnet.network.durable.home import Home
from cbnet.network.durable.home_log.journal import HISTORY_ID, JournalEvent, OpenJournal, ReadResult, Stalled
from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.durable.home_log.log import Log
from cbnet.network.durable.home_records import HomeRecords
from cbnet.network.durable.publications import Publications
from cbnet.network.durable.replays import Replays
from cbnet.network.forwarding.forwarder import Forwarder
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.link import Link
from cbnet.network.protocol.frames import (
    Acknowledge,
    DurableQuery,
    DurableReport,
    DurableSubscribe,
    HistoryField,
    Packet,
    Replay,
    Stored,
    frame_number,
)
from cbnet.network.protocol.reasons import ReasonCode, Refusal

_MAX_REPORT_BYTES = 1 << 21  # of the subscriptions in one answer; more than the longest predicate
_FIELD_BYTES = 1_000  # of a subscription without its predicate, at most


class DurableRouter:
    """The durable part of one router."""

    def __init__(
        self,
        core: RouterCore,
        announcements: Announcements,
        forwarder: Forwarder,
        journal: OpenJournal | None,
    ) -> None:
        self._context = context = core.context
        self._links = core.links
        self._unicast = core.unicast
        self._queue = None if journal is None else JournalQueue(context, journal.journal)
        self.records = HomeRecords(core, self._queue, {} if journal is None else journal.state.homes)
        self.publications = Publications(core, self.records, forwarder)
        self._log: Log | None = None
        self._home: Home | None = None
        self._registry: DurableRegistry | None = None
        self._replays: Replays | None = None
        self._followers: Followers | None = None
        if self._queue is not None and journal is not None:
            state = journal.state
            self._log = log = Log(self._queue, state)
            saved = next((each for each in state.subscriptions if each.id == HISTORY_ID), None)
            history = open_history(context, self._queue, log, state.id, saved)
            if history is not None:
                self._replays = Replays(context, history, log)
                self._followers = Followers(context, history, self._replays)
            self._home = Home(context, self._queue, log, state.windows.values(), self._answer)
            self._registry = DurableRegistry(
                core, announcements, self._home, self.records, self._queue, log, state, self._replays
            )
        elif context.settings.history:
            raise InputError(f"router {context.name} cannot keep a history without a journal", hint="set `journal`")
        core.links.on_closed.append(self._link_closed)

    @property
    def registry(self) -> DurableRegistry:
        """The durable subscriptions; raise an `InputError` if this router has no journal."""
        if self._registry is None:
            raise InputError(
                f"router {self._context.name} has no journal, so it cannot have durable subscriptions",
                hint='set journal = "FOLDER" in its configuration',
            )
        return self._registry

    @property
    def followers(self) -> Followers:
        """The replay subscriptions; raise an `InputError` if this router keeps no history."""
        if self._followers is None:
            raise no_history(self._context.name)
        return self._followers

    # --- events

    def stored(self, _: Link, frame: Stored) -> None:
        """Handle the answer of a home, or forward it."""
        self._unicast.receive(frame, self.publications.stored)

    def journalled(self, event: JournalEvent) -> None:
        """Handle an event of the journal."""
        assert self._queue is not None
        if isinstance(event, Stalled):
            self._queue.stalled(event.reason)
        elif isinstance(event, ReadResult):
            assert self._log is not None
            self._log.loaded(event, self._context.now)
        else:
            self._queue.committed(event)

    def detach(self, link: int, id: int) -> bool:
        """Detach a client from a durable or replay subscription; return whether it was attached."""
        is_followed = self._followers is not None and self._followers.detach(link, id)
        return is_followed or (self._registry is not None and self._registry.detach(link, id))

    def acknowledge(self, link: int, frame: Acknowledge) -> None:
        """Handle the acknowledgement of a client, which may name messages of another router."""
        if self._registry is not None:
            self._registry.acknowledge(link, frame)
        if self._followers is not None:
            self._followers.acknowledge(link, frame.id, frame.offsets, frame.up_to)

    def attached(self, link: int) -> list[tuple[int, int, str]]:
        """Return frame number, id and predicate of each durable or replay subscription of a client."""
        durable = [] if self._registry is None else self._registry.attached(link)
        followed = [] if self._followers is None else self._followers.attached(link)
        return [
            *((frame_number(DurableSubscribe), *each) for each in durable),
            *((frame_number(Replay), *each) for each in followed),
        ]

    def check_home(self, account: str, name: str) -> None:
        """Raise a `Refusal` if a durable subscription has its home at another router, and not here."""
        elsewhere = self.records.table.home_of(account, name)
        is_here = self._registry is not None and bool(self._registry.predicate(account, name))
        if elsewhere is not None and elsewhere.owner != self._context.name and not is_here:
            where = f"{elsewhere.owner}, {elsewhere.address}" if elsewhere.address else elsewhere.owner
            problem = f"durable subscription {name!r} lives at router {where}"
            raise Refusal(problem, ReasonCode.OTHER_HOME, hint="connect there")

    def load(self, account: str) -> FilterLoad:
        """Return the load of the durable subscriptions of an account, whether its clients are connected or not."""
        return NO_LOAD if self._registry is None else self._registry.load(account)

    def replay_load(self, links: Collection[int]) -> FilterLoad:
        """Return the load of the replay subscriptions of these links."""
        return NO_LOAD if self._followers is None else self._followers.load(links)

    @property
    def replaying(self) -> Mapping[str, int]:
        """The payers of replays and searches whose messages were read from the journal, with their weights."""
        return {} if self._replays is None else self._replays.payers

    def replay(self, payer: str) -> None:
        """Handle some of these messages."""
        if self._replays is not None:
            self._replays.advance(payer)

    def replays_of(self, link: int) -> list[int]:
        """Return the ids of a client's replay subscriptions, oldest first."""
        return [] if self._followers is None else [id for id, _ in self._followers.attached(link)]

    def note_loss(self, cause: str) -> None:
        """Record in the history that messages may be missing."""
        if self._replays is not None:
            self._replays.history.note(cause)

    def _link_closed(self, link: Link) -> None:
        self.publications.remove_client(link.id)
        if self._registry is not None:
            self._registry.remove_client(link.id)
        if self._followers is not None:
            self._followers.remove_client(link.id)

    def forget(self, home: str) -> None:
        """Remove the record of a home that will not return."""
        if home == self._context.name and self._registry is not None:
            raise InputError(f"{home} is this router", hint="remove its durable subscriptions")
        if not self.records.forget(home):
            raise InputError(f"no router {home!r} with durable subscriptions is known")

    def after(self, call: Callable[[], None]) -> None:
        """Call a function once all changes are on disk; at once if they are, or if this router has no journal."""
        if self._queue is None:
            call()
        else:
            self._queue.after(call)

    def set_address(self, address: str) -> None:
        """Set the address that clients connect to."""
        if self._registry is not None:
            self.records.own.address = address
            if self.records.own.has_other_address:
                self.records.announce()

    def check(self) -> None:
        """Do periodic work."""
        if self._queue is not None:
            self._queue.check()
        self.publications.check()
        if self._home is not None and self._registry is not None:
            self._home.check()
            self._registry.check()
        if self._replays is not None:
            self._replays.run_all()

    def flush(self) -> None:
        """Submit the operations of this turn to the journal, at its end."""
        if self._home is not None and self._queue is not None:
            self._home.finish_turn()
            self._queue.finish_turn()

    # --- status

    def report(self, client: Link, frame: DurableQuery) -> DurableReport:
        """Return the durable subscriptions of a client, or all if it may watch or manage, and the known homes."""
        account = None if client.rights.watch or client.rights.manage else client.account
        chosen = [] if self._registry is None else self._registry.all(account, frame.after)
        sizes = accumulate(_FIELD_BYTES + len(each.saved.predicate.encode()) for each in chosen)
        fitting = sum(1 for _ in takewhile(lambda size: size <= _MAX_REPORT_BYTES, sizes))
        listed = [each.status() for each in chosen[:fitting]]
        rest = len(chosen) - len(listed)
        if rest and frame.after is None:
            raise InputError(
                "too many durable subscriptions for one answer", hint="use a client of version 0.3 or later"
            )
        return DurableReport(
            number=frame.number,
            subscriptions=listed,
            homes=self.records.table.counts(),
            problem=self.problem,
            history=self.history_status(is_whole=client.rights.watch),
            account=client.account,
            former_accounts=sorted(
                {each.account for each in listed if not self._links.access.has_account(each.account)}
            ),
            rest=rest,
        )

    @property
    def problem(self) -> str:
        """Why the journal cannot be used; empty if it can, or if there is none."""
        return "" if self._queue is None else self._queue.problem

    def history_status(self, *, is_whole: bool = True) -> HistoryField | None:
        """Return the state of the history, if there is one; the predicate only if `is_whole`."""
        return None if self._replays is None else self._replays.history.status(is_whole=is_whole)

    def take(self, packet: Packet, ids: Sequence[int]) -> None:
        """Store a message for some durable subscriptions of this router, and answer its source."""
        if self._home is not None:
            self._home.take(packet, ids)

    def lose(self, ids: Sequence[int]) -> None:
        """Count a message as lost for some durable subscriptions of this router."""
        if self._home is not None:
            self._home.lose(ids)

    # --- inside

    def _answer(self, frame: Stored) -> None:
        if frame.to == self._context.name:
            self.publications.stored(frame)
        else:
            self._unicast.send(frame)
