"""Durable subscriptions of removed accounts end after a grace period."""

import json
import logging

import pytest
from support.durable_networks import DurableLab, answers, payloads, report

from cbnet.network.logs import open_audit_log, use_audit_log
from cbnet.network.protocol.frames import DurableLimits, DurableLost, HistoryStart, RefusedFrame, Replaying
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.security.access import OPEN_ACCESS, Access, Account
from cbnet.network.security.rights import Rights
from cbnet.network.security.tokens import new_token

GRACE = 1_000.0  # seconds; a restart repeats 20 of them
TOKENS = {name: new_token(name) for name in ("ann", "operator")}
CAUSE = "durable subscription billing ended, as the account 'ann' did not exist any more"


def access(*names):
    return Access(clients={name: Account(Rights(), TOKENS[name].hash) for name in names})


class Lab(DurableLab):
    """A router with the account ann, whose subscription has three messages, and an operator."""

    def __init__(self, **settings):
        self._settings = {"account_grace": GRACE, **settings}
        super().__init__("a", access={"a": access("ann", "operator")}, **self._settings)
        self.operator = self.client("a", "operator", TOKENS["operator"].token)
        self.ann = self.client("a", "ann", TOKENS["ann"].token)
        self.subscribe(self.ann)
        self.run(1)
        self.ann.disconnect()
        self.publish(3)

    def subscribe(self, client, predicate="x > 0", **more):
        client.subscribe_durable(1, "billing", predicate, **more)

    def publish(self, count):
        numbers = [self.operator.publish_durable({"x": 1}, b"m") for _ in range(count)]
        self.run(1)
        return [self.operator.receipts[number].subscriptions for number in numbers]

    def reload(self, *names, **settings):
        router = self.memory.router("a")
        self.memory.hosts["a"].access = access(*names)
        settings = type(router.settings)("a", **{**self._settings, **settings})
        self.memory.hosts["a"].settings = settings
        router.reload(settings, access(*names), self.memory.now)

    def restart(self):
        self.kill("a")
        self.start("a")
        self.run(4)

    def listed(self):
        return [(each.account, each.name) for each in report(self, self.operator).subscriptions]

    def ends_in(self):
        """Return the seconds until ann's subscriptions end."""
        return next(each.ends_in for each in report(self, self.operator).accounts if each.account == "ann")

    def returned(self, predicate="x > 0"):
        """Return a new client of ann, who subscribes again."""
        client = self.client("a", "ann", TOKENS["ann"].token)
        self.subscribe(client, predicate)
        self.run(1)
        return client


def test_subscriptions_of_a_removed_account_end_after_the_grace_period():
    net = Lab()
    assert net.ends_in() is None
    net.reload("operator")
    net.run(10)
    assert net.ends_in() == pytest.approx(GRACE - 10, abs=2)
    net.run(GRACE - 30)
    assert net.listed() == [("ann", "billing")]
    assert net.publish(1) == [1]  # until then they go on
    net.run(30)
    assert net.listed() == []
    assert net.publish(1) == [0]
    net.run(5)
    assert not net.memory.router("a").durable.records.own.all_filters()  # no publisher waits for it any more


def test_an_account_that_returns_in_time_loses_nothing():
    net = Lab()
    net.reload("operator")
    net.run(GRACE - 50)
    net.reload("operator", "ann")
    net.run(1)
    assert net.ends_in() is None
    net.reload("operator")
    net.run(GRACE - 50)  # the time begins again
    net.reload("operator", "ann")
    client = net.returned()
    assert (payloads(client), answers(client, DurableLost)) == ([b"m"] * 3, [])


def test_the_time_survives_restarts_and_a_clock_that_jumps():
    net = Lab()
    net.reload("operator")
    for _ in range(4):
        net.run(200)
        net.disks["a"].clock_offset += 1e9
        net.restart()
    assert GRACE - 800 - 20 <= net.ends_in() <= GRACE - 800 + 4 * 20
    net.run(320)
    assert net.listed() == []


@pytest.mark.parametrize("is_restarted", [False, True])
def test_an_account_that_returns_too_late_learns_why_and_what_it_has_lost(is_restarted):
    net = Lab()
    net.reload("operator")
    net.run(GRACE + 10)
    if is_restarted:
        net.restart()
    net.reload("operator", "ann")
    client = net.returned("")
    (refused,) = answers(client, RefusedFrame)
    assert (refused.reason, refused.code) == (
        f"{CAUSE}, with 3 messages; give a predicate to create it again",
        ReasonCode.REMOVED,
    )
    net.subscribe(client, limits=DurableLimits(messages=5))
    net.run(1)
    assert [(each.messages, each.cause) for each in answers(client, DurableLost)] == [(3, CAUSE)]
    assert net.publish(2) == [1, 1]
    assert [each.offset for each in client.stored] == [1, 2]
    client.disconnect()
    net.restart()
    again = net.returned("")
    assert answers(again, RefusedFrame) == answers(again, DurableLost) == []  # it has acknowledged the loss


def test_a_loss_before_the_end_is_reported_too():
    net = Lab()
    net.memory.router("a").durable.registry.existing("ann", "billing").losses.add(0, "another cause")
    net.reload("operator")
    net.run(GRACE + 10)
    net.reload("operator", "ann")
    lost = [(each.messages, each.cause) for each in answers(net.returned(), DurableLost)]
    assert lost == [(0, "another cause"), (3, CAUSE)]


def test_the_space_of_an_ended_subscription_is_free_after_a_restart():
    net = Lab()
    net.reload("operator")
    net.run(GRACE + 10)
    net.restart()
    net.run(10)
    assert net.memory.hosts["a"].disk._written.entries == {}


def test_with_a_grace_period_of_zero_subscriptions_stay():
    net = Lab(account_grace=0.0)
    net.reload("operator")
    net.run(100 * GRACE / 10)
    assert net.listed() == [("ann", "billing")]
    assert net.ends_in() is None
    net.reload("operator", account_grace=GRACE)  # the time counts from the removal
    net.run(1)
    assert net.listed() == []


def test_the_subscriptions_of_clients_without_accounts_end_when_there_is_a_list_of_clients():
    net = DurableLab("a", account_grace=GRACE)
    net.client("a").subscribe_durable(1, "billing", "x > 0")
    net.run(1)
    router = net.memory.router("a")
    assert router.links.access is OPEN_ACCESS
    router.reload(router.settings, access("operator"), net.memory.now)
    net.run(GRACE + 10)
    assert router.durable.registry.all(None) == []


def test_each_step_is_in_the_log_and_the_end_in_the_audit_log(caplog, tmp_path):
    net = Lab()
    use_audit_log(open_audit_log(str(tmp_path / "audit"), "a"))
    try:
        with caplog.at_level(logging.INFO, "cbnet.network"):
            net.reload("operator")
            net.run(10)
            net.reload("operator", "ann")
            net.run(10)
            net.reload("operator")
            net.run(GRACE + 10)
    finally:
        use_audit_log(logging.NullHandler())
    events = [(each.getMessage(), each.members) for each in caplog.records if "account" in getattr(each, "members", {})]
    removed = ("account removed", {"account": "ann", "durable_subscriptions_end": "in 1,000 s"})
    ended = {"account": "ann", "name": "billing", "messages": 3}
    assert events == [
        removed,
        ("account exists again", {"account": "ann"}),
        removed,
        ("durable subscription ended", ended),
    ]
    lines = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    (line,) = [each for each in lines if each["event"] == "changed"]
    assert {key: line[key] for key in ("operation", *ended)} == {"operation": "end", **ended}


def test_a_subscription_from_the_past_ends_while_it_searches():
    net = Lab(history="x > 0")
    client = net.client("a", "ann", TOKENS["ann"].token)
    client.acknowledges = lambda _: False
    client.subscribe_durable(7, "late", "x > 0", limits=DurableLimits(messages=1), start=HistoryStart())
    net.run(1)
    assert [len(answers(client, Replaying)), len(client.stored)] == [1, 1]
    client.disconnect()
    net.reload("operator")
    net.run(GRACE + 10)
    assert net.listed() == []
    net.restart()
    assert net.publish(1) == [0]
