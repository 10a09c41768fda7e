"""A month of failures: a network delivers as it must with any number of trees, and a network that does not is found out."""

import pytest

from cbnet.errors import InputError
from cbnet.language import Message
from cbnet.network import MemoryClient, MemoryNetwork, Settings
from cbnet.network.announce.subscriptions import Matches, Subscriptions
from cbnet.network.linkstate.flooding import Flooding
from cbnet.network.router.clients import ClientHandler
from cbnet_lab.bench.routing import Routing
from cbnet_lab.faults.soak.delivery_ledger import DeliveryLedger
from cbnet_lab.faults.soak.ground_truth import GroundTruth
from cbnet_lab.faults.soak.month import MAX_RECOVERY, MonthPlan, bench_month

MINUTES = MonthPlan("powerlaw:8", hours=0.03, rate=5)


def run(plan, trees="1"):
    (routing,) = Routing.from_text(trees)
    return bench_month(plan, routing, lambda _: None)


@pytest.mark.parametrize("trees", ["1", "3", "pif"])
def test_in_minutes_of_failures_nothing_is_missed_in_a_quiet_network(trees):
    outcome = run(MINUTES, trees)
    counts = outcome.counts
    assert outcome.is_good, counts.examples
    assert (counts.missed_quiet, counts.twice, counts.spurious) == (0, 0, 0)
    assert counts.messages >= 0.03 * 3600 * 5
    assert 0 < counts.quiet < counts.messages
    assert counts.requests == counts.messages // 5 > 0
    assert 0 < counts.from_caches < counts.replies <= counts.requests
    assert counts.endless == counts.unanswered_quiet == 0
    assert outcome.recoveries
    assert max(each.since_last for each in outcome.recoveries) <= MAX_RECOVERY
    assert 0.3 < outcome.quiet_share < 1


def test_any_number_of_trees_has_the_same_month():
    plan = MonthPlan("powerlaw:8", hours=0.02, rate=1)
    one, other = run(plan, "1"), run(plan, "4")
    assert one.events == other.events
    assert (one.routers, one.links, one.clients) == (8, other.links, 16)


def test_every_kind_of_failure_happens():
    happened = run(MonthPlan("ring:3", hours=2, rate=0.05)).events
    assert set(happened) == {
        "link failure", "half-noticed link failure", "silent link failure", "link repair", "partition",
        "partition repair", "router failure", "silent router failure", "router start", "client disconnects",
        "client is lost", "client stalls", "client reconnects", "slow client", "subscription replaced",
    }  # fmt: skip


def test_a_network_that_does_not_learn_is_found_out(monkeypatch):
    monkeypatch.setattr(Flooding, "greet", lambda *_: None)  # nothing is told after a new connection
    assert not run(MonthPlan("powerlaw:8", hours=0.01, rate=2)).is_good


def test_what_is_lost_in_a_quiet_network_is_found_out(monkeypatch):
    matched = Subscriptions.matched

    def forgetful(self, content):
        return Matches({}, [], False, 0) if content.attributes.get("price") == 700 else matched(self, content)

    monkeypatch.setattr(Subscriptions, "matched", forgetful)
    outcome = run(MonthPlan("powerlaw:8", hours=0.01))
    assert outcome.counts.missed_quiet
    assert "missed" in outcome.counts.examples[0]


def test_what_comes_twice_is_found_out(monkeypatch):
    matched = Subscriptions.matched

    def twice(self, content):
        found = matched(self, content)
        return found._replace(clients={link: ids * 2 for link, ids in found.clients.items()})

    monkeypatch.setattr(Subscriptions, "matched", twice)
    outcome = run(MonthPlan("powerlaw:8", hours=0.01))
    assert outcome.counts.twice
    assert not outcome.is_good


def test_what_nobody_asked_for_is_found_out(monkeypatch):
    def everything(self, _):
        return Matches({link: list(by_id) for link, by_id in self._filters.items() if by_id}, [], False, 0)

    monkeypatch.setattr(Subscriptions, "matched", everything)
    assert run(MonthPlan("powerlaw:8", hours=0.01)).counts.spurious


def test_a_request_that_is_lost_in_a_quiet_network_is_found_out(monkeypatch):
    monkeypatch.setattr(MemoryClient, "_answer", lambda *_: None)  # no holder says anything
    counts = run(MonthPlan("powerlaw:8", hours=0.01)).counts
    assert counts.unanswered_quiet
    assert not counts.is_right


def test_a_request_that_does_not_end_is_found_out(monkeypatch):
    monkeypatch.setattr(ClientHandler, "pull", lambda *_: None)
    counts = run(MonthPlan("powerlaw:8", hours=0.01)).counts
    assert counts.endless
    assert not counts.is_right


@pytest.mark.parametrize("wrong", [{"hours": 0}, {"hours": 1001}, {"rate": 0}, {"rate": 1001}])
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(InputError):
        MonthPlan(**wrong)


def three(messages=()):
    """Return routers a-b-c, and a client of c that wants x > 1 and one of a."""
    memory = MemoryNetwork(1)
    for name in "abc":
        memory.add(Settings(name))
    memory.add_cable("a", "b")
    memory.add_cable("b", "c")
    clients = {name: MemoryClient(memory, name, name) for name in "ac"}
    clients["c"].subscribe(1, "x > 1")
    return memory, clients, GroundTruth(memory, clients, messages)


def test_it_is_known_when_all_have_it_and_not_before():
    memory, clients, truth = three()
    assert not truth.is_converged()
    memory.run(3)
    assert truth.is_converged()
    clients["c"].subscribe(2, "y = 1")
    assert not truth.is_converged()
    memory.run(1)
    assert truth.is_converged()


def test_a_network_is_quiet_when_earlier_versions_are_forgotten():
    memory, _, truth = three()
    memory.run(1.5)
    assert truth.is_converged()
    assert not truth.is_quiet()
    memory.run(Settings("a").overlap + 0.5)
    assert truth.is_quiet()


@pytest.mark.parametrize(("value", "is_seen"), [(1, False), (2, True)])
def test_a_table_that_differs_for_one_of_the_messages_is_found_out(value, is_seen):
    memory, _, truth = three([Message({"x": value})])
    memory.run(3)
    assert truth.is_converged()
    (stream,) = memory.router("a").streams.incoming.values()
    (wanted,) = memory.router("a").subscriptions.aggregation.filters(stream)
    memory.router("a").subscriptions.aggregation.change(stream, (), [wanted])
    assert truth.is_converged() is not is_seen


def test_a_silent_failure_is_not_known_until_it_is_noticed():
    memory, _, truth = three()
    memory.run(3)
    memory.cut("b", "c", noticed_by=())
    assert truth.reached("a") == {"a", "b"}
    memory.run(2)
    assert not truth.is_converged()
    memory.repair("b", "c")  # the cable is whole, and the connection over it is dead
    assert truth.reached("a") == {"a", "b", "c"}
    assert not truth.is_converged()
    memory.run(5)
    assert truth.is_converged()


def test_a_client_that_was_lost_is_known_of_when_its_router_has_given_it_up():
    memory, clients, truth = three()
    memory.run(3)
    clients["c"].disconnect(silently=True)
    memory.run(1)
    assert not truth.is_converged()
    memory.run(4)
    assert truth.is_converged()
    clients["c"].reconnect()
    memory.run(2)
    assert truth.is_converged()
    assert len(memory.router("c").subscriptions) == 1


def test_a_slow_client_gets_all_later():
    memory, clients, _ = three()
    memory.run(3)
    clients["c"].freeze(1.0)
    clients["a"].publish({"x": 2}, b"late")
    memory.run(0.9)
    assert clients["c"].deliveries == []
    memory.run(0.2)
    assert [each.payload for each in clients["c"].deliveries] == [b"late"]


def test_a_client_that_stands_still_too_long_is_given_up_and_comes_back():
    memory, clients, truth = three()
    memory.run(3)
    clients["c"].freeze(6.0)
    memory.run(5)
    assert len(memory.router("c").subscriptions) == 0
    memory.run(3)
    assert truth.is_converged()
    assert len(memory.router("c").subscriptions) == 1


def test_the_ledger_judges_by_whether_something_changed_meanwhile():
    memory, clients, _ = three()
    memory.run(3)
    ledger = DeliveryLedger(clients)
    ledger.add_subscription(("c", 1), "x > 1")
    message = Message({"x": 2})
    lost = ledger.add_message(message, memory.now, set("abc"), is_quiet=True)
    ledger.disturb()
    payload = ledger.add_message(message, memory.now, set("abc"), is_quiet=True)
    clients["a"].publish({"x": 2}, payload)
    ledger.add_message(message, memory.now, {"a", "b"}, is_quiet=True)  # c cannot be reached: nobody must get it
    never = ledger.add_message(message, memory.now, set("abc"), is_quiet=True)
    memory.run(10)
    ledger.settle(memory.now)
    counts = ledger.counts
    assert (counts.messages, counts.quiet, counts.delivered) == (4, 3, 1)
    assert (counts.missed_changing, counts.missed_quiet) == (1, 1)
    assert counts.examples == [f"{never.decode()}, sent at 3.00, missed ('c', 1)"]
    assert lost == b"0"
