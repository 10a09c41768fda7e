"""Operators with the right `manage`, and the durable subscriptions of all accounts."""

import json

import pytest
from support.guarded_router import GuardedRouter
from support.memory_networks import sent

from cbnet.language.syntax.byte_form import predicate_to_bytes
from cbnet.network.durable import durable_router
from cbnet.network.link.settings import Settings
from cbnet.network.logs import open_audit_log, use_audit_log
from cbnet.network.protocol.frames import (
    DurableLimit,
    DurableLimited,
    DurableLimits,
    DurablePublish,
    DurablePublished,
    DurableQuery,
    DurableRemove,
    DurableRemoved,
    DurableReport,
    DurableSubscribe,
    ForgetHome,
    HomeRecord,
    Ping,
    RefusedFrame,
    Reload,
    Subscribed,
)
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.protocol.wire import MAX_ROUTER_FRAME_BYTES, encode
from cbnet.network.security.access import OPEN_ACCESS
from cbnet.network.security.rights import Rights

RIGHTS = {
    "ann": Rights(watch=False, manage=False),
    "operator": Rights(watch=False, manage=True),
    "watcher": Rights(watch=True, manage=False),
}
ANN, OPERATOR, WATCHER = 1, 2, 3


def subscribe(name, predicate="x > 0"):
    return DurableSubscribe(1, name, predicate, 0.0, 1, 30.0, None)


def publish(sequence):
    return DurablePublish(5, sequence, sequence, 5.0, {"x": 1}, [], b"")


@pytest.fixture
def net():
    """A router where ann has a subscription with two messages."""
    started = GuardedRouter(RIGHTS, dead=60.0)
    assert sent(started.say(ANN, subscribe("billing")), Subscribed)
    assert len(sent(started.say(ANN, publish(1), publish(2)), DurablePublished)) == 2
    return started


def listed(net, link):
    (report,) = sent(net.say(link, DurableQuery(1, ("", ""))), DurableReport)
    return report


def refusal(net, link, frame):
    (refused,) = sent(net.say(link, frame), RefusedFrame)
    return refused.reason, refused.code


def test_an_operator_lists_the_subscriptions_of_all_accounts(net):
    report = listed(net, OPERATOR)
    (each,) = report.subscriptions
    assert (each.account, each.name, each.predicate, each.messages) == ("ann", "billing", "x > 0", 2)
    assert (report.account, report.former_accounts, report.rest) == ("operator", [], 0)


def test_an_operator_limits_the_subscription_of_another_account(net):
    limits = DurableLimits(messages=2)
    answers = sent(net.say(OPERATOR, DurableLimit(7, "billing", 2, None, None, None, "ann")), DurableLimited)
    assert answers == [DurableLimited(7, limits)]
    (answer,) = sent(net.say(ANN, publish(3)), DurablePublished)
    assert "is full: 2 messages" in answer.refused[0]
    assert listed(net, OPERATOR).subscriptions[0].limits == limits


def test_an_operator_removes_the_subscription_of_another_account_and_learns_what_was_lost(net):
    done = net.say(OPERATOR, DurableRemove(7, "billing", "ann"))
    assert sent(done, DurableRemoved) == [DurableRemoved(7, 2)]
    assert [(each.frame, each.code) for each in sent(done, RefusedFrame)] == [(70, ReasonCode.REMOVED)]
    assert listed(net, OPERATOR).subscriptions == []
    (answer,) = sent(net.say(ANN, publish(3)), DurablePublished)
    assert answer.subscriptions == 0


def test_subscriptions_of_a_removed_account_are_listed_limited_and_removed(net):
    net.change({name: RIGHTS[name] for name in ("operator", "watcher")})
    for link in (OPERATOR, WATCHER):
        report = listed(net, link)
        assert [each.account for each in report.subscriptions] == report.former_accounts == ["ann"]
    assert sent(net.say(OPERATOR, DurableLimit(1, "billing", 2, None, None, None, "ann")), DurableLimited)
    assert sent(net.say(OPERATOR, DurableRemove(1, "billing", "ann")), DurableRemoved) == [DurableRemoved(1, 2)]
    assert listed(net, OPERATOR).former_accounts == []


def test_a_subscription_from_the_time_before_there_were_accounts_is_managed_like_others():
    net = GuardedRouter(RIGHTS)
    net.router.reload(Settings("a"), OPEN_ACCESS, net.memory.now)
    assert sent(net.say(ANN, subscribe("billing")), Subscribed)  # all share the account without a name
    assert listed(net, OPERATOR).former_accounts == []
    net.change(RIGHTS)
    net.connect(OPERATOR, "operator")
    report = listed(net, OPERATOR)
    assert [each.account for each in report.subscriptions] == report.former_accounts == [""]
    assert sent(net.say(OPERATOR, DurableRemove(1, "billing", "")), DurableRemoved)


@pytest.mark.parametrize("link", [ANN, WATCHER])
def test_without_the_right_manage_nothing_of_others_changes(net, link):
    assert sent(net.say(OPERATOR, subscribe("orders")), Subscribed)
    before = listed(net, OPERATOR)
    for frame, what in (
        (DurableRemove(1, "orders", "operator"), "change durable subscriptions of other accounts"),
        (DurableRemove(1, "missing", "operator"), "change durable subscriptions of other accounts"),
        (DurableLimit(1, "orders", 1, None, None, None, "operator"), "change durable subscriptions of other accounts"),
        (ForgetHome(1, "z"), "make routers forget a home"),
        (Reload(1, "a"), "reload the configuration"),
    ):
        denied = f"you may not {what}; ask the operator for `manage = true`", ReasonCode.DENIED
        assert refusal(net, link, frame) == denied
    assert listed(net, OPERATOR) == before
    counters = net.router.counters
    assert [counters[f"denied.{each}"] for each in ("remove", "limit", "forget", "reload")] == [2, 1, 1, 1]


def test_a_watcher_cannot_make_receipts_false_while_a_home_is_down(net):
    filters = list(predicate_to_bytes("x > 0"))
    net.router.durable.records.table.set(HomeRecord("c", 1, 1, "", [("bob", "orders")], filters))
    assert refusal(net, WATCHER, ForgetHome(1, "c"))[1] == ReasonCode.DENIED
    net.say(ANN, publish(3))
    net.memory.run(5.1)  # longer than the timeout of the message
    (answer,) = sent(net.say(WATCHER, Ping(1)), DurablePublished)
    assert (answer.subscriptions, answer.silent) == (1, ["c"])


@pytest.mark.parametrize(
    ("account", "name"), [("ann", "Billing"), ("ann", "billin"), ("an", "billing"), ("", "billing")]
)
def test_account_and_name_must_be_exact(net, account, name):
    of = f" of account {account!r}" if account else ""
    expected = f"there is no durable subscription {name!r}{of} at router a", ReasonCode.INVALID
    assert refusal(net, OPERATOR, DurableRemove(1, name, account)) == expected
    assert refusal(net, OPERATOR, DurableLimit(1, name, 5, None, None, None, account)) == expected
    assert len(listed(net, OPERATOR).subscriptions) == 1


def test_a_name_alone_is_of_the_own_account(net):
    assert refusal(net, OPERATOR, DurableRemove(1, "billing"))[0].startswith(
        "there is no durable subscription 'billing'"
    )
    assert sent(net.say(ANN, DurableRemove(1, "billing")), DurableRemoved) == [DurableRemoved(1, 2)]


def test_the_home_of_a_subscription_at_another_router_is_named(net):
    record = HomeRecord("c", 1, 1, "10.0.0.3:4001", [("bob", "orders")], [])
    net.router.durable.records.table.set(record)
    reason, code = refusal(net, OPERATOR, DurableRemove(1, "orders", "bob"))
    assert reason == "durable subscription 'orders' lives at router c, 10.0.0.3:4001; connect there"
    assert code == ReasonCode.OTHER_HOME


def test_changes_of_what_belongs_to_others_are_in_the_audit_log(net, tmp_path):
    net.router.durable.records.table.set(HomeRecord("c", 1, 1, "", [("bob", "orders")], []))
    net.router.on_reload = lambda _link, _number: None
    file = tmp_path / "audit.jsonl"
    use_audit_log(open_audit_log(str(file), "a"))
    try:
        for link, frame in (
            (WATCHER, ForgetHome(1, "c")),
            (OPERATOR, ForgetHome(1, "c")),
            (OPERATOR, ForgetHome(1, "c")),
            (OPERATOR, Reload(1, "b")),
            (OPERATOR, Reload(1, "a")),
            (OPERATOR, DurableLimit(1, "billing", 5, None, None, None, "ann")),
            (OPERATOR, DurableRemove(1, "billing", "ann")),
            (OPERATOR, DurableRemove(1, "billing", "ann")),
            (ANN, subscribe("own")),
            (ANN, DurableRemove(1, "own")),
        ):
            net.say(link, frame)
    finally:
        use_audit_log(open_audit_log("", "a"))
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["event"], row["client"], row["operation"]) for row in rows] == [
        ("refused", "watcher", "forget"),
        ("changed", "operator", "forget"),
        ("refused", "operator", "forget"),  # it is forgotten already
        ("refused", "operator", "reload"),
        ("changed", "operator", "reload"),
        ("changed", "operator", "limit"),
        ("changed", "operator", "remove"),
        ("refused", "operator", "remove"),
    ]
    common = {"time", "level", "router", "event", "client", "address", "operation"}
    changes = [{key: row[key] for key in row.keys() - common} for row in rows if row["event"] == "changed"]
    assert changes == [
        {"home": "c"},
        {},
        {"account": "ann", "name": "billing", "limits": "5 messages (refuse)"},
        {"account": "ann", "name": "billing", "messages": 2},
    ]


def test_a_long_list_comes_in_parts_in_the_order_of_accounts_and_names(monkeypatch):
    monkeypatch.setattr(durable_router, "_MAX_REPORT_BYTES", 2_500)  # two subscriptions
    net = GuardedRouter(RIGHTS)
    for link in (OPERATOR, ANN):
        for name in ("c", "a", "b"):
            assert sent(net.say(link, subscribe(name)), Subscribed)
    found, after, rests = [], ("", ""), []
    while True:
        (page,) = sent(net.say(OPERATOR, DurableQuery(1, after)), DurableReport)
        found += [(each.account, each.name) for each in page.subscriptions]
        rests.append(page.rest)
        if not page.rest:
            break
        after = found[-1]
    assert found == [(account, name) for account in ("ann", "operator") for name in "abc"]
    assert rests == [4, 2, 0]
    (page,) = sent(net.say(ANN, DurableQuery(1, ("ann", "b"))), DurableReport)
    assert ([each.name for each in page.subscriptions], page.rest) == (["c"], 0)
    assert refusal(net, OPERATOR, DurableQuery(1))[0].startswith("too many durable subscriptions for one answer; use")


def test_no_account_can_make_the_list_too_long_for_a_frame():
    net = GuardedRouter(RIGHTS, dead=60.0)
    predicate = f'x = "{"y" * 60_000}"'
    for number in range(80):  # all share one filter
        assert sent(net.say(ANN, subscribe(f"s{number:02}", predicate)), Subscribed)
    found, after = [], ("", "")
    while len(found) < 80:
        (page,) = sent(net.say(OPERATOR, DurableQuery(1, after)), DurableReport)
        assert len(encode(page)) <= MAX_ROUTER_FRAME_BYTES
        assert sum(len(each.predicate) for each in page.subscriptions) <= 1 << 21
        found += [each.name for each in page.subscriptions]
        assert page.rest == 80 - len(found)
        after = ("ann", found[-1])
    assert found == [f"s{number:02}" for number in range(80)]
