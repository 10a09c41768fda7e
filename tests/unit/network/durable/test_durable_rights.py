"""Rights of clients and their durable subscriptions."""

from support.memory_networks import hello, sent

from cbnet import parse
from cbnet.network.durable.journal import OpenJournal
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import (
    DurableDeliver,
    DurablePublish,
    DurableQuery,
    DurableRemove,
    DurableReport,
    DurableSubscribe,
    ForgetHome,
    HistoryStart,
    Publish,
    RefusedFrame,
    Replay,
    Subscribed,
)
from cbnet.network.router.router import Router
from cbnet.network.security.access import Access, Account
from cbnet.network.security.rights import Rights
from cbnet.network.security.tokens import new_token
from cbnet.network.simulation.memory_disk import MemoryDisk
from cbnet.network.simulation.memory_network import MemoryNetwork

TOKENS = {name: new_token(name) for name in ("ann", "bob")}
RIGHTS = {
    "ann": Rights(publish=parse("x > 0"), subscribe=parse("x > 0"), watch=False),
    "bob": Rights(watch=True),
}


class Guarded:
    """A router with accounts and a journal."""

    def __init__(self, **settings):
        self.memory = MemoryNetwork()
        disk = MemoryDisk(self.memory)
        accounts = {name: Account(rights, TOKENS[name].hash) for name, rights in RIGHTS.items()}
        self.done = []
        state = disk.start(lambda event: self.done.extend(self.router.journalled(event, self.memory.now)))
        self.router = Router(Settings("a", **settings), 7, Access(clients=accounts), journal=OpenJournal(disk, state))
        for link, name in enumerate(TOKENS, 1):
            self.router.opened(link, 0.0)
            own = hello("client", name, life=0, link=0, scheme="")
            own.token = TOKENS[name].token
            self.say(link, own)

    def say(self, link, *frames):
        self.done = []
        for frame in frames:
            self.done += self.router.received(link, frame, self.memory.now)
        self.memory.run(0.1)
        self.done += self.router.tick(self.memory.now)
        return self.done


def subscribe(name, predicate):
    return DurableSubscribe(1, name, predicate, 0.0, 10, 30.0, None)


def test_what_a_client_may_not_subscribe_to_or_publish_is_refused():
    net = Guarded()
    (refused,) = sent(net.say(1, subscribe("s", "x > -1")), RefusedFrame)
    assert (refused.frame, refused.number) == (70, 1)
    assert refused.reason.startswith("you may only subscribe to `x > 0`")
    (refused,) = sent(net.say(1, DurablePublish(5, 1, 1, 5.0, {"x": 0}, [], b"")), RefusedFrame)
    assert (refused.frame, refused.number) == (72, 1)
    assert net.router.counters["denied.subscribe"] == net.router.counters["denied.publish"] == 1


def test_names_belong_to_accounts():
    net = Guarded()
    assert sent(net.say(1, subscribe("s", "x > 1")), Subscribed)
    assert sent(net.say(2, subscribe("s", "x > 2")), Subscribed)
    (own,) = sent(net.say(1, DurableQuery(1)), DurableReport)
    assert [(each.account, each.predicate) for each in own.subscriptions] == [("ann", "x > 1")]
    (every,) = sent(net.say(2, DurableQuery(1)), DurableReport)
    assert [each.account for each in every.subscriptions] == ["ann", "bob"]
    net.say(2, DurableRemove(1, "s"))
    (every,) = sent(net.say(2, DurableQuery(1)), DurableReport)
    assert [each.account for each in every.subscriptions] == ["ann"]


def test_only_a_client_that_may_watch_forgets_homes():
    net = Guarded()
    (refused,) = sent(net.say(1, ForgetHome(1, "z")), RefusedFrame)
    assert refused.reason.startswith("you may not remove what others subscribed to")
    (refused,) = sent(net.say(2, ForgetHome(1, "z")), RefusedFrame)
    assert refused.reason == "no router 'z' with durable subscriptions is known"


def test_a_number_outside_the_window_is_refused():
    net = Guarded()
    (refused,) = sent(net.say(2, DurablePublish(5, 2_000, 1, 5.0, {"x": 0}, [], b"")), RefusedFrame)
    assert refused.reason == "message 2000 is not one of the 1,024 from 1 on"


def test_client_whose_rights_shrink_gets_no_more_and_cannot_join_again():
    net = Guarded()
    assert sent(net.say(1, subscribe("s", "x > 1")), Subscribed)
    narrow = {"ann": Rights(subscribe=parse("x = 5"), watch=False), "bob": RIGHTS["bob"]}
    accounts = {name: Account(rights, TOKENS[name].hash) for name, rights in narrow.items()}
    done = net.router.reload(net.router.settings, Access(clients=accounts), net.memory.now)
    (refused,) = sent(done, RefusedFrame)
    assert (refused.frame, refused.number) == (70, 1)
    assert refused.reason.startswith("you may only subscribe to `x = 5`")
    (refused,) = sent(net.say(1, subscribe("s", "")), RefusedFrame)  # without a predicate
    assert refused.reason.startswith("you may only subscribe to `x = 5`")
    (own,) = sent(net.say(1, DurableQuery(1)), DurableReport)
    assert [(each.name, each.clients) for each in own.subscriptions] == [("s", 0)]


def replay(predicate):
    return Replay(1, predicate, 0.0, 10, HistoryStart())


def test_a_client_sees_of_the_history_what_it_may_subscribe_to():
    net = Guarded(history="x > -10")
    net.say(2, Publish(1, {"x": -5}, [], b"", False), Publish(2, {"x": 5}, [], b"", False))
    (refused,) = sent(net.say(1, replay("x > -10")), RefusedFrame)
    assert (refused.frame, refused.number) == (76, 1)
    assert refused.reason.startswith("you may only subscribe to `x > 0`")
    assert net.router.counters["denied.subscribe"] == 1
    delivered = sent(net.say(1, replay("x > 0")), DurableDeliver)
    assert [each.offset for each in delivered] == [2]
    (own,) = sent(net.say(1, DurableQuery(1)), DurableReport)
    assert (own.history.predicate, own.history.messages) == ("", 2)
    (whole,) = sent(net.say(2, DurableQuery(1)), DurableReport)
    assert whole.history.predicate == "x > -10"


def test_a_client_whose_rights_shrink_gets_no_more_of_the_history():
    net = Guarded(history="x > -10")
    net.say(1, replay("x > 0"))
    narrow = {"ann": Rights(subscribe=parse("x = 5"), watch=False), "bob": RIGHTS["bob"]}
    accounts = {name: Account(rights, TOKENS[name].hash) for name, rights in narrow.items()}
    (refused,) = sent(net.router.reload(net.router.settings, Access(clients=accounts), net.memory.now), RefusedFrame)
    assert (refused.frame, refused.number) == (76, 1)
    assert not sent(net.say(2, Publish(1, {"x": 1}, [], b"", False)), DurableDeliver)
