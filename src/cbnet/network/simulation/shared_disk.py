"""The simulated journal of a home group: a database with a lease, and the journal of each router of the group.

    router ── request ──► database ── answer ──► router       each takes half of the delay; both may be lost, or late

The database performs a transaction only for the router that took the home last (`is_fenced`), and each once. A router
that is killed or suspended has perhaps sent a request that is performed later, and gets no answer, or a late one. A
transaction sent over a cut connection arrives when the connection is restored. A suspended router may still hold
transactions that it has not sent; they arrive when it resumes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from cbnet.network.durable.home_log import journal
from cbnet.network.durable.home_log.journal import JournalStatistics
from cbnet.network.simulation.memory_disk import DiskContent
from cbnet.network.transport.journals.leased_journal import LEASE, POLL, RENEWAL, Lease

if TYPE_CHECKING:
    from cbnet.network.simulation.memory_network import MemoryNetwork

_AWAY = "the database does not answer"
_UNSENT = 0.5  # share of the requests under way that have not left a router as it is suspended
_Answer = TypeVar("_Answer")


class Taken(NamedTuple):
    """A home that a router has taken."""

    epoch: int
    transactions: int
    state: journal.RecoveredState


class SharedDisk:
    """A database with the journal of a home."""

    def __init__(
        self, memory: MemoryNetwork, *, delay: float = 0.005, on_taken: Callable[[str], None] = lambda _: None
    ) -> None:  # fmt: skip
        """Initialise; delay: of a transaction, in seconds. on_taken: called with each router that takes the home."""
        self.delay = delay
        self.is_away = False
        self.content = DiskContent(memory.random.getrandbits(62))
        self.sessions: set[object] = set()
        self.holder = ""
        self._memory = memory
        self._on_taken = on_taken
        self._session: object = None  # of the holder
        self._expires = -inf
        self._epoch = self._transactions = 0

    def acquire(self, router: str, session: object) -> Taken | str:
        """Let a router take the home if its lease has ended; otherwise return the router that holds it."""
        is_own = self.holder == router and (self._session is session or self._session not in self.sessions)
        if self._memory.now < self._expires and not is_own:
            return self.holder
        self._epoch += 1
        self.holder, self._session = router, session
        self._expires = self._memory.now + LEASE
        self._on_taken(router)
        return Taken(self._epoch, self._transactions, self.content.recover())

    def is_fenced(self, epoch: int, number: int) -> bool:
        """Return whether the home was taken since this epoch, or a transaction is neither the last nor the next one."""
        return epoch != self._epoch or number not in (self._transactions, self._transactions + 1)

    def renew(self, epoch: int, number: int) -> bool:
        """Renew the lease with the number of the last transaction; return whether the router still holds the home."""
        if self.is_fenced(epoch, number):
            return False
        self._expires = self._memory.now + LEASE
        return True

    def release(self, epoch: int) -> None:
        """End the lease, if it is still this one."""
        if epoch == self._epoch:
            self._expires = -inf

    def perform(
        self, epoch: int, number: int, operations: Sequence[journal.Operation]
    ) -> list[journal.ReadResult] | None:
        """Perform the transaction with a number, unless it was performed before; return None if it is fenced."""
        if not self.renew(epoch, number):
            return None
        if number != self._transactions:
            self._transactions = number
            for operation in operations:
                if not isinstance(operation, journal.Read):
                    self.content.perform(operation)
        return [self.content.read(each) for each in operations if isinstance(each, journal.Read)]


class Tenure:
    """The journal of a router while it holds the home."""

    def __init__(self, disk: LeasedDisk, taken: Taken, lease: Lease) -> None:
        self._disk = disk
        self.lease = lease
        self.statistics = JournalStatistics()
        self.epoch = taken.epoch
        self.transactions = taken.transactions
        self.queue: list[Sequence[journal.Operation]] = []
        self.is_busy = False

    @property
    def is_held(self) -> bool:
        """Whether the router may act for the home."""
        return self.lease.is_held

    def submit(self, operations: Sequence[journal.Operation]) -> None:
        """Queue operations for the next transaction."""
        self.queue.append(operations)
        self._disk.begin(self)

    def back_up(self, id: int, name: str) -> None:  # noqa: ARG002
        """Refuse a backup: the database makes its own."""
        self._disk.refuse_backup(id)

    def release(self) -> None:
        """Let another router take the home."""
        self._disk.released(self)

    def time(self) -> float:
        """Return the time of the simulation, by the wall clock of this host."""
        return self._disk.time()


class LeasedDisk:
    """The journal of one router of a home group."""

    def __init__(self, memory: MemoryNetwork, shared: SharedDisk, router: str) -> None:
        self.shared = shared
        self.clock_offset = 0.0  # seconds, of the wall clock
        self.is_full = False  # not simulated
        self.is_cut = False  # the database cannot be reached from this router
        self.on_sent: Callable[[], None] | None = None  # called once, with the next transaction on its way
        self._late: list[Callable[[], object]] = []  # transactions on their way since
        self._memory = memory
        self._router = router
        self._rate = 1.0  # of the clock of the lease
        self._clock_since = (0.0, 0.0)  # times of the simulation and of that clock when the rate changed
        self._session = object()
        self._run = 0  # requests of an earlier run or tenure are not answered
        self._tenure: Tenure | None = None
        self._standby: journal.Standby | None = None  # the last one that was reported
        self._on_event: Callable[[journal.JournalEvent], None] = lambda _: None

    # --- journal

    def start(self, on_event: Callable[[journal.JournalEvent], None]) -> journal.Standby:
        """Begin to take the home."""
        self._on_event = on_event
        self._session = object()
        self.shared.sessions.add(self._session)
        self._standby = journal.Standby("")
        self._acquire()
        return self._standby

    def crash(self) -> None:
        """Lose everything that was not sent: the router was killed."""
        self._run += 1
        self._tenure = None
        self.shared.sessions.discard(self._session)

    def time(self) -> float:
        """Return the time of the simulation, by the wall clock of this host."""
        return self._memory.now + self.clock_offset

    def entries(self, subscription: int) -> dict[int, journal.Entry]:
        """Return the messages on the disk that a subscription has not acknowledged, by offset."""
        return self.shared.content.unacknowledged(subscription)

    @property
    def delay(self) -> float:
        """The time of a transaction, in seconds."""
        return self.shared.delay

    @delay.setter
    def delay(self, seconds: float) -> None:
        self.shared.delay = seconds

    def cut(self) -> None:
        """Cut the connection to the database."""
        self.is_cut = True

    def mend(self) -> None:
        """Mend it: the transactions on their way arrive; nobody waits for their answers."""
        self.is_cut = False
        late, self._late = self._late, []
        for request in late:
            request()

    # --- clock of the lease

    def clock(self) -> float:
        """Return the time of the clock that counts the lease."""
        since, then = self._clock_since
        return then + (self._memory.now - since) * self._rate

    def set_clock_rate(self, rate: float) -> None:
        """Let that clock run faster or slower."""
        self._clock_since, self._rate = (self._memory.now, self.clock()), rate

    # --- requests

    def _ask(
        self,
        request: Callable[[], _Answer],
        handle: Callable[[_Answer], None],
        failed: Callable[[], None],
        *,
        may_be_late: bool = False,
    ) -> None:
        """Send a request to the database, and handle its answer, or, some time later, that there is none."""
        run, host, half = self._run, self._memory.hosts.get(self._router), self.shared.delay / 2

        def back(call: Callable[[], None], delay: float) -> None:
            def arrived() -> None:
                if run == self._run:
                    call()

            self._memory.after(delay, arrived if host is None else lambda: host.when_running(arrived))

        def at_server() -> None:
            if self.shared.is_away or self.is_cut:
                back(failed, POLL)
                if self.is_cut and may_be_late:
                    self._late.append(request)
                return
            answer = request()
            self._memory.after(half, lambda: answered(answer))

        def answered(answer: _Answer) -> None:
            if self.shared.is_away or self.is_cut:
                back(failed, POLL)
            else:
                back(lambda: handle(answer), 0.0)

        def sent() -> None:
            if host is not None and host.is_suspended and self._memory.random.random() < _UNSENT:
                host.when_running(at_server)
            else:
                at_server()

        self._memory.after(half, sent)

    def _acquire(self) -> None:
        sent = self.clock()

        def handle(answer: Taken | str) -> None:
            if isinstance(answer, Taken):
                self._take(answer, sent)
            else:
                self._stand_by(journal.Standby(answer))

        self._ask(
            lambda: self.shared.acquire(self._router, self._session),
            handle,
            lambda: self._stand_by(journal.Standby("", _AWAY)),
        )  # fmt: skip

    def _stand_by(self, standby: journal.Standby) -> None:
        """Report that the router does not hold the home, and try to take it soon."""
        self._run += 1
        self._tenure = None
        self._later(POLL, self._acquire)
        if standby != self._standby:
            self._standby = standby
            self._on_event(standby)

    def refuse_backup(self, id: int) -> None:
        """Answer that no backup is made."""
        self._memory.after(0.0, lambda: self._on_event(journal.BackedUp(id, "", 0, "the database makes its backups")))

    def _later(self, delay: float, call: Callable[[], None]) -> None:
        run, host = self._run, self._memory.hosts[self._router]
        self._memory.after(delay, lambda: host.when_running(lambda: call() if run == self._run else None))

    def _take(self, taken: Taken, sent: float) -> None:
        lease = Lease(self.clock)
        lease.renew(sent)
        self._standby = None
        self._tenure = tenure = Tenure(self, taken, lease)
        self._later(RENEWAL, lambda: self._renew(tenure))
        self._on_event(journal.OpenJournal(tenure, taken.state))

    def released(self, tenure: Tenure) -> None:
        """End a tenure: the router does not act for the home any more."""
        if tenure is not self._tenure:
            return
        self._run += 1
        self._tenure = None
        self._standby = journal.Standby("")
        again = self._acquire
        self._ask(lambda: self.shared.release(tenure.epoch), lambda _: again(), again)

    # --- tenure

    def begin(self, tenure: Tenure) -> None:
        """Begin the next transaction, if none is on its way."""
        if tenure is self._tenure and tenure.queue and not tenure.is_busy:
            tenure.is_busy = True
            submits, tenure.queue = tenure.queue, []
            self._perform(tenure, submits)

    def _perform(self, tenure: Tenure, submits: list[Sequence[journal.Operation]]) -> None:
        sent, number, operations = self.clock(), tenure.transactions + 1, [*chain.from_iterable(submits)]

        def handle(reads: list[journal.ReadResult] | None) -> None:
            if reads is None:
                self._stand_by(journal.Standby(self.shared.holder))
                return
            tenure.transactions += 1
            tenure.lease.renew(sent)
            tenure.is_busy = False
            self.begin(tenure)  # the journal does not wait for the router
            self._on_event(journal.Committed(len(submits)))
            for read in reads:
                self._on_event(read)

        self._ask(
            lambda: self.shared.perform(tenure.epoch, number, operations),
            handle,
            lambda: self._failed(tenure, lambda: self._perform(tenure, submits)),
            may_be_late=True,
        )
        if self.on_sent is not None:
            call, self.on_sent = self.on_sent, None
            call()

    def _failed(self, tenure: Tenure, again: Callable[[], None]) -> None:
        """Repeat a request without an answer while the lease lasts."""
        if not tenure.lease.is_held:
            self._stand_by(journal.Standby("", _AWAY))
            return
        again()

    def _renew(self, tenure: Tenure) -> None:
        if tenure is not self._tenure:
            return
        self._later(RENEWAL, lambda: self._renew(tenure))
        if tenure.is_busy or not tenure.lease.is_due:
            return
        sent = self.clock()

        def handle(is_held: bool) -> None:
            if is_held:
                tenure.lease.renew(sent)
            else:
                self._stand_by(journal.Standby(self.shared.holder))

        self._ask(
            lambda: self.shared.renew(tenure.epoch, tenure.transactions),
            handle,
            lambda: self._failed(tenure, lambda: None),
        )
