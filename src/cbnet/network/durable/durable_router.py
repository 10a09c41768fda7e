"""Durable subscriptions of one router, and the acknowledged publishing of its clients.

    publications ──► forwarder ──► home ──► journal       messages on their way to the disk of each home
         ▲                          │
         └────────── Stored ────────┘
    registry ──► home records ──► all routers             the set of homes
    log ──► history ──► replays ──► replay subscriptions, and new durable ones that begin in the past

home, registry, log and what reads it exist while this router holds its home (`HeldHome`).
A router without a journal holds no home, but it knows the homes, and its clients can publish. So does a router that
stands by: its journal, which it shares with other routers of a home group, is held by another one, or nobody. It may
take the home at any time, and lose it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import accumulate, takewhile

from msgspec.structs import replace

from cbnet.errors import InputError
from cbnet.network.announce.announcements import Announcements
from cbnet.network.announce.filter_counts import NO_LOAD, FilterLoad
from cbnet.network.durable.durable_registry import DurableRegistry
from cbnet.network.durable.held_home import HeldHome
from cbnet.network.durable.histories.followers import Followers
from cbnet.network.durable.histories.history import no_history
from cbnet.network.durable.home_log.journal import BackedUp, JournalEvent, JournalStatistics, OpenJournal, Standby
from cbnet.network.durable.publications import Publications, publisher_incarnation
from cbnet.network.durable.records.home_records import HomeRecords
from cbnet.network.durable.runs.published_runs import PublishedRuns
from cbnet.network.durable.runs.received_runs import ReceivedRuns
from cbnet.network.durable.runs.run_kinds import RunKinds
from cbnet.network.forwarding.forwarder import Forwarder
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.link import Link
from cbnet.network.logs import log
from cbnet.network.protocol import frames
from cbnet.network.protocol.fields import MAX_REASON_LENGTH
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
        journal: OpenJournal | Standby | None,
    ) -> None:
        self._core = core
        self._announcements = announcements
        self.records = HomeRecords(core, has_journal=journal is not None)
        self.publications = Publications(core, self.records, forwarder)
        kinds = RunKinds(core, forwarder.fast, self.records.table)
        self.runs = PublishedRuns(core, forwarder, self.records, self.publications, kinds)
        self.received_runs = ReceivedRuns(core, forwarder, kinds, self._answer)
        self.held: HeldHome | None = None  # the home of this router, if it holds it
        self._standby: Standby | None = None  # None: this router holds a home, or has no journal
        self._parked: dict[tuple[int, int], frames.DurableSubscribe | frames.Replay] = {}  # by link and id
        if journal is not None:
            self.journalled(journal)
        elif self._core.settings.history:
            hint = "set `journal`"
            raise InputError(f"router {self._core.name} cannot keep a history without a journal", hint=hint)
        core.links.on_closed.append(self._link_closed)

    # --- the home of this router

    def has_lost_home(self) -> bool:
        """Give the home up if its lease has ended; return whether it has. To be called before each turn.

        A router that was suspended, or is cut off from its journal, thus does nothing for a home of another router.
        """
        if self.held is None or self.held.journal.is_held:
            return False
        self._lose(Standby("", "the lease has ended: the journal has not answered in time"))
        return True

    @property
    def _followers(self) -> Followers | None:
        return None if self.held is None else self.held.followers

    @property
    def is_holder(self) -> bool:
        """Whether this router acts for its home."""
        return self.held is not None and self.held.journal.is_held

    def _take(self, opened: OpenJournal) -> None:
        if self.held is not None:
            self._lose(Standby("", "its journal was opened again"))
        self.held = HeldHome(self._core, self._announcements, self.records, opened, self._answer)
        if self._standby is not None:
            log(logging.INFO, "home taken", home=self._core.home, journal=opened.state.id)
            self._standby = None

    def _lose(self, standby: Standby) -> None:
        held, self.held, self._standby = self.held, None, standby
        if held is not None:
            reason = standby.problem or f"router {standby.holder} holds it"
            log(logging.WARNING, "home lost", home=self._core.home, reason=reason)
            held.drop()
            self.runs.resolve_all(with_own=True)

    @property
    def registry(self) -> DurableRegistry:
        """The durable subscriptions; raise an `InputError` if this router does not hold a home."""
        if self.held is not None:
            return self.held.registry
        if self._standby is not None:
            raise self._not_held(self._standby)
        raise InputError(
            f"router {self._core.name} has no journal, so it cannot have durable subscriptions",
            hint='set journal = "FOLDER" in its configuration',
        )

    @property
    def followers(self) -> Followers:
        """The replay subscriptions; raise an `InputError` if this router keeps no history."""
        if self._followers is not None:
            return self._followers
        if self._standby is not None and self._core.settings.history:
            raise self._not_held(self._standby, ReasonCode.OTHER_HISTORY)
        raise no_history(self._core.name)

    def _not_held(self, standby: Standby, code: ReasonCode = ReasonCode.OTHER_HOME) -> Refusal:
        """Return the refusal of a client that needs the home."""
        home, name = self._core.home, self._core.name
        if not standby.holder:
            return Refusal(f"nobody holds the home {home}, for which {name} stands by", code, hint="try again")
        record = self.records.table.get(home)
        address = record.address if record is not None and record.holder == standby.holder else ""
        at = f", {address}" if address else ""
        return Refusal(
            f"router {standby.holder}{at} holds the home {home}", code, hint="connect there", address=address
        )

    def park(self, link: int, frame: frames.DurableSubscribe | frames.Replay) -> bool:
        """Keep a frame until it is known who holds the home; return whether that is necessary."""
        is_unknown = self.held is None and self._standby is not None and not self._standby.holder
        if is_unknown:
            self._parked[link, frame.id] = frame
        return is_unknown

    def unparked(self) -> list[tuple[int, frames.DurableSubscribe | frames.Replay]]:
        """Remove and return the frames that can be handled now, with their links."""
        if not self._parked or (self._standby is not None and not self._standby.holder):
            return []
        parked, self._parked = self._parked, {}
        return [(link, frame) for (link, _), frame in parked.items()]

    # --- events

    def journalled(self, event: JournalEvent) -> None:
        """Handle an event of the journal."""
        if isinstance(event, OpenJournal):
            self._take(event)
        elif isinstance(event, Standby):
            self._lose(event)
        elif self.held is not None:
            self.held.journalled(event)

    def publish(self, client: Link, frame: frames.DurablePublish) -> None:
        """Publish a message that is not in a run."""
        self.runs.resolve(publisher_incarnation(frame.publisher))
        self.publications.begin(client.id, client.account, frame)

    def back_up(self, name: str, call: Callable[[BackedUp], None]) -> None:
        """Make a backup of the journal, and call a function with the result; raise an `InputError` without one."""
        _ = self.registry  # raises the error
        assert self.held is not None
        self.held.queue.check_writable()
        self.held.back_up(name, call)

    def detach(self, link: int, id: int) -> bool:
        """Detach a client from a durable or replay subscription; return whether it was attached."""
        if self._parked.pop((link, id), None) is not None:
            return True
        is_follower = self._followers is not None and self._followers.detach(link, id)
        return is_follower or (self.held is not None and self.held.registry.detach(link, id))

    def acknowledge(self, link: Link, frame: frames.Acknowledge) -> None:
        """Handle the acknowledgement of a client; after a reconnection, it may name messages of another router."""
        if self.held is not None:
            self.held.registry.acknowledge(link.id, frame)
        if self._followers is not None:
            self._followers.acknowledge(link.id, frame.id, frame.offsets, frame.up_to)

    def attached(self, link: int) -> list[tuple[int, int, str]]:
        """Return frame number, id and predicate of each durable or replay subscription of a client, oldest first."""
        durable = () if self.held is None else self.held.registry.attached(link)
        followed = () if self._followers is None else self._followers.attached(link)
        return [
            *((frames.frame_number(frames.DurableSubscribe), *each) for each in durable),
            *((frames.frame_number(frames.Replay), *each) for each in followed),
        ]

    def check_home(self, account: str, name: str) -> None:
        """Raise a `Refusal` if a durable subscription has its home at another router, and not here."""
        elsewhere = self.records.table.home_of(account, name)
        is_here = self.held is not None and self.held.registry.find(account, name) is not None
        if elsewhere is not None and elsewhere.owner != self._core.home and not is_here:
            where = f"{elsewhere.holder}, {elsewhere.address}" if elsewhere.address else elsewhere.holder
            problem = f"durable subscription {name!r} lives at router {where}"
            raise Refusal(problem, ReasonCode.OTHER_HOME, hint="connect there", address=elsewhere.address)

    def change_quotas(self) -> None:
        """Apply the quotas of all accounts: they may have changed."""
        if self.held is not None:
            self.held.registry.change_quotas()

    def load(self, account: str) -> FilterLoad:
        """Return the load of the durable subscriptions of an account, whether its clients are connected or not."""
        return NO_LOAD if self.held is None else self.held.registry.load(account)

    def replay_load(self, links: Collection[int]) -> FilterLoad:
        """Return the load of the replay subscriptions of these links."""
        return NO_LOAD if self._followers is None else self._followers.load(links)

    @property
    def replaying(self) -> Mapping[str, int]:
        """The payers of replays and searches whose messages were read from the journal, with their weights."""
        return {} if self._followers is None else self._followers.replays.payers

    def replay(self, payer: str) -> None:
        """Handle some of these messages."""
        if self._followers is not None and payer in self.replaying:
            self._followers.replays.advance(payer)

    def note_loss(self, cause: str) -> None:
        """Record in the history that messages may be missing."""
        if self._followers is not None:
            self._followers.history.note(cause)

    def _link_closed(self, link: Link) -> None:
        self.publications.remove_client(link.id)
        self.runs.remove_client(link.id)
        self._parked = {key: frame for key, frame in self._parked.items() if key[0] != link.id}
        for _, id, _ in self.attached(link.id):
            self.detach(link.id, id)

    def forget(self, home: str) -> None:
        """Remove the record of a home that will not return."""
        if home == self._core.home and self.held is not None:
            raise InputError(f"{home} is the home of this router", hint="remove its durable subscriptions")
        if not self.records.forget(home):
            raise InputError(f"no router {home!r} with durable subscriptions is known")

    def after(self, call: Callable[[], None]) -> None:
        """Call a function once all changes are on disk; at once if they are, or if this router has no journal."""
        if self.held is None:
            call()
        else:
            self.held.queue.after(call)

    def set_address(self, address: str) -> None:
        """Set the address that clients connect to."""
        self.records.own.address = address
        if self.held is not None and self.records.own.has_other_address:
            self.records.announce()

    def check(self) -> None:
        """Do periodic work."""
        self.publications.check()
        self.runs.check()
        if self.held is not None:
            self.held.check()

    def flush(self) -> None:
        """Submit the operations of this turn to the journal, at its end."""
        if self.held is not None:
            self.held.finish_turn()

    # --- status

    def report(self, client: Link, frame: frames.DurableQuery) -> frames.DurableReport:
        """Return the durable subscriptions of a client, or all if it may watch or manage, and the known homes."""
        is_operator = client.rights.watch or client.rights.manage
        account = None if is_operator else client.account
        own = self.held
        chosen = [] if own is None else own.registry.all(account, frame.after)
        sizes = accumulate(_FIELD_BYTES + len(each.saved.predicate.encode()) for each in chosen)
        fitting = sum(1 for _ in takewhile(lambda size: size <= _MAX_REPORT_BYTES, sizes))
        listed = [each.status() for each in chosen[:fitting]]
        rest = len(chosen) - len(listed)
        if rest and frame.after is None:
            raise InputError(
                "too many durable subscriptions for one answer", hint="use a client of version 0.3 or later"
            )
        owners = {client.account, *(each.account for each in listed)}
        return frames.DurableReport(
            number=frame.number,
            subscriptions=listed,
            homes=self.records.table.counts(),
            problem="; ".join(self.notes)[:MAX_REASON_LENGTH],
            history=self.history_status(is_whole=client.rights.watch),
            account=client.account,
            former_accounts=sorted(
                {each.account for each in listed if not self._core.links.access.has_account(each.account)}
            ),
            rest=rest,
            accounts=[] if own is None else [own.account_status(each) for each in sorted(owners)],
            journal=self.journal_status() if is_operator else None,
        )

    @property
    def problem(self) -> str:
        """Why the journal cannot be used; empty if it can, or if there is none."""
        if self._standby is not None:
            return self._standby.problem
        return "" if self.held is None else self.held.queue.problem

    @property
    def notes(self) -> list[str]:
        """What an operator has to know: why the journal cannot be used, and what was lost with another one."""
        return [*filter(None, [self.problem]), *([] if self.held is None else self.held.review.problems)]

    @property
    def journal_state(self) -> str:
        """One of `JOURNAL_STATES`; empty without a journal."""
        return self.held.queue.state if self.held is not None else "" if self._standby is None else "standby"

    def journal_status(self) -> frames.JournalField | None:
        """Return the state of the journal, if there is one."""
        state = self.journal_state
        if not state:
            return None
        figures = JournalStatistics() if self.held is None else self.held.journal.statistics
        used, free, disk = figures.size or (0, 0, 0)
        median, p99 = figures.quantile(0.5), figures.quantile(0.99)
        return frames.JournalField(state, used, free, disk, sum(figures.within), median, p99)

    def history_status(self, *, is_whole: bool = True) -> frames.HistoryField | None:
        """Return the state of the history, if there is one; the predicate only if `is_whole`."""
        return None if self._followers is None else self._followers.history.status(is_whole=is_whole)

    def take(self, packet: frames.Packet, ids: Sequence[int]) -> None:
        """Store a message for some durable subscriptions of this router, and answer its source.

        A durable one comes again, if a subscription that it is for may be missing.
        """
        own = self.held
        if own is not None and (packet.durable is None or not self.records.is_under_review):
            own.home.take(packet, ids)

    def lose(self, ids: Sequence[int]) -> None:
        """Count a message as lost for some durable subscriptions of this router."""
        if self.held is not None:
            self.held.home.lose(ids)

    # --- inside

    def _answer(self, frame: frames.Stored) -> None:
        frame = replace(frame, journal=self.records.foreign.journal)
        self._core.unicast.receive(frame, self.runs.stored)
