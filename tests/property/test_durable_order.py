"""Whatever happens to the one client of a durable subscription, it receives all messages, in the order of offsets."""

from hypothesis import given, settings
from hypothesis import strategies as st

from cbnet.network.durable.home_log import log as log_module
from cbnet.network.durable.home_log.journal import Committed, Read, SavedSubscription, SaveLosses, SaveSubscription
from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.durable.home_log.log import Log
from cbnet.network.durable.home_log.losses import Losses
from cbnet.network.durable.subscriptions.consumers import Consumer
from cbnet.network.durable.subscriptions.dead_letters import DeadLetters
from cbnet.network.durable.subscriptions.durable_subscription import DurableSubscription
from cbnet.network.link.context import RouterContext
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import DurableLimits
from cbnet.network.simulation.memory_disk import DiskContent

SAVED = SavedSubscription(1, "", "s", "x > 0", DurableLimits())


class Bench:
    """A durable subscription on a disk that writes when it is told to, and its client."""

    def __init__(self):
        self.disk = DiskContent(1)
        self.disk.perform(SaveSubscription(SAVED))
        self.submits = []
        context = RouterContext(Settings("a"), 1)
        self.queue = JournalQueue(context, self)
        losses = Losses(self.queue, SaveLosses(1))
        self.log = Log(self.queue, self.disk.recover())
        self.log.open(1, 1)
        self.subscription = DurableSubscription(
            SAVED, losses, self.log, lambda _, frame: self.received(frame), DeadLetters(context, self.queue, {})
        )
        self.now = 0.0
        self.link = 0
        self.is_attached = False
        self.firsts = []  # offsets that the present client received for the first time
        self.held = []
        self.acknowledged = set()

    def time(self):
        return self.now

    def submit(self, operations):
        self.submits.append(operations)

    def received(self, frame):
        assert self.is_attached
        assert frame.offset in self.disk.unacknowledged(1)
        assert frame.content == str(frame.offset).encode()
        if frame.offset not in self.firsts:
            self.firsts.append(frame.offset)
        self.held.append(frame.offset)

    # --- what may happen

    def append(self, count):
        for _ in range(count):
            offset = self.subscription.cursor.next
            self.subscription.append(self.log.append([1], "a", 1, offset, str(offset).encode()))
            self.log.append([2], "a", 1, offset, b"of another subscription")
        end = self.log.next
        self.queue.after(lambda: setattr(self.log, "on_disk", end))

    def attach(self, window):
        if not self.is_attached:
            self.link += 1
            self.firsts, self.held = [], []
            self.is_attached = True
            self.subscription.attach(Consumer(self.link, 1, window, 10.0))

    def detach(self, _):
        if self.is_attached:
            self.subscription.detach(self.link, 1)
            self.is_attached = False

    def acknowledge(self, index):
        if self.is_attached and self.held:
            offset = self.held.pop(index % len(self.held))
            self.acknowledged.add(offset)
            self.subscription.acknowledge(self.link, 1, [offset], 0)

    def wait(self, seconds):
        self.now += seconds
        self.subscription.check(self.now)
        self.log.free()

    def commit(self, _):
        submits, self.submits = self.submits, []
        operations = [operation for submitted in submits for operation in submitted]
        for operation in operations:
            if not isinstance(operation, Read):
                self.disk.perform(operation)
        self.queue.committed(Committed(len(submits)))
        for operation in operations:
            if isinstance(operation, Read):
                self.log.loaded(self.disk.read(operation), self.now)

    def step(self, action, argument):
        getattr(self, action)(argument)
        self.subscription.deliver(self.now)
        self.log.finish_turn()
        self.queue.finish_turn()


ACTIONS = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 8)),
    st.tuples(st.just("attach"), st.sampled_from([1, 2, 5, 20])),
    st.tuples(st.just("detach"), st.just(0)),
    st.tuples(st.just("acknowledge"), st.integers(0, 20)),
    st.tuples(st.just("wait"), st.sampled_from([1, 11])),
    st.tuples(st.just("commit"), st.just(0)),
)


@settings(max_examples=150)
@given(st.lists(ACTIONS, min_size=30, max_size=80), st.sampled_from([0, 5_000, 1 << 20]))
def test_each_client_receives_all_that_is_not_acknowledged_in_the_order_of_offsets(actions, tail):
    before = log_module._TAIL_BYTES
    log_module._TAIL_BYTES = tail
    try:
        bench = Bench()
        for action in actions:
            bench.step(*action)
            assert bench.firsts == sorted(bench.firsts)
        bench.step("detach", 0)
        bench.step("attach", 1_000)
        for _ in range(3):
            bench.step("commit", 0)
    finally:
        log_module._TAIL_BYTES = before
    everything = range(1, bench.subscription.cursor.next)
    assert bench.firsts == [offset for offset in everything if offset not in bench.acknowledged]
    assert bench.subscription.losses.lost == 0
