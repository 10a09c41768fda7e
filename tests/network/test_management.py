"""`cbnet durable` and `cbnet reload` over TCP, on behalf of operators: what belongs to other accounts."""

import json

import pytest
from support.http_servers import running_http

from cbnet import connect
from cbnet.network import DurableLimits, Refused
from cbnet.network.security.access import Access, Account, SecurityPolicy
from cbnet.network.security.rights import Rights
from cbnet.network.security.tokens import new_token

TOKENS = {name: new_token(name) for name in ("ann", "operator", "watcher")}
RIGHTS = {
    "ann": Rights(watch=False, manage=False),
    "operator": Rights(watch=False, manage=True),
    "watcher": Rights(watch=True, manage=False),
}
ACCOUNTS = {name: Account(RIGHTS[name], TOKENS[name].hash) for name in TOKENS}


class Managed:
    """A router where ann has a subscription with three messages, and commands of clients."""

    def __init__(self, server, cbnet):
        self.server, self._cbnet = server, cbnet
        with self.connect("ann") as client:
            client.subscribe("x > 0", durable="billing", wait=True).unsubscribe()
            client.publish_durably([{"x": 1}] * 3)

    def connect(self, name):
        return connect(self.server.address, token=TOKENS[name].token)

    def command(self, name, *arguments, stdin=b""):
        options = ("--router", self.server.address, "--token", TOKENS[name].token)
        return self._cbnet(*arguments, *options, stdin=stdin)

    def remove_account(self, name):
        left = {each: account for each, account in ACCOUNTS.items() if each != name}

        async def reload():
            router = self.server.router
            router.reload(router.router.settings, {}, Access(left, frozenset()), router._contexts)

        self.server.call(reload())

    def listed(self, name="operator"):
        outcome = self.command(name, "durable", "list", "--json")
        assert (outcome.code, outcome.err) == (0, "")
        return [row for row in map(json.loads, outcome.out.splitlines()) if "name" in row]


@pytest.fixture
def managed(tmp_path, cbnet):
    with running_http(SecurityPolicy(Access(ACCOUNTS, frozenset())), journal=tmp_path) as server:
        yield Managed(server, cbnet)


REMOVE = ("durable", "remove", "billing", "--account", "ann")


def test_an_operator_lists_limits_and_removes_the_subscription_of_an_account_that_no_longer_exists(managed):
    managed.remove_account("ann")
    (row,) = managed.listed()
    shown = ("home", "account", "account_exists", "name", "predicate", "messages")
    assert [row[member] for member in shown] == ["a", "ann", False, "billing", "x > 0", 3]
    outcome = managed.command("operator", "durable", "list")
    assert "1 durable subscription of router a" in outcome.out
    assert "ann (removed)" in outcome.out
    assert "ann (removed, ends in 7.0 d)" in outcome.out

    limit = ("durable", "limit", "billing", "--account", "ann", "--max-messages", "3")
    outcome = managed.command("operator", *limit, stdin=b"billing\n")
    question = "the limits of durable subscription billing of account ann at a will change"
    asked = f"{question}\ntype the name billing to confirm:\n"
    assert (outcome.code, outcome.err) == (0, f"{asked}billing at a: 3 messages (refuse)\n")
    outcome = managed.command("operator", *limit, "--drop-oldest", "--confirm", "billing", "--json")
    limits = {"messages": 3, "bytes": 0, "age": 0.0, "policy": "drop oldest", "max_deliveries": 0, "dead_letter": ""}
    assert json.loads(outcome.out) == {"home": "a", "name": "billing", "limits": limits}

    outcome = managed.command("operator", *REMOVE, stdin=b"billing\n")
    what = "durable subscription billing of account ann at a, with 0 clients and 3 unacknowledged messages,"
    asked = f"{what} will be removed\ntype the name billing to confirm:\n"
    assert (outcome.code, outcome.err) == (0, f"{asked}removed billing at a, with 3 unacknowledged messages\n")
    assert managed.listed() == []


@pytest.mark.parametrize("given", [{}, {"stdin": b"y\n"}, {"stdin": b"Billing\n"}, {"confirm": "ann"}])
def test_a_removal_without_the_exact_name_changes_nothing(managed, given):
    option = ("--confirm", given["confirm"]) if "confirm" in given else ()
    outcome = managed.command("operator", *REMOVE, *option, stdin=given.get("stdin", b""))
    assert outcome.code == 2
    assert outcome.err.endswith("error: not confirmed, so 'billing' was not changed; confirm with --confirm billing\n")
    (row,) = managed.listed()
    assert (row["messages"], row["account_exists"]) == (3, True)


def test_a_removal_of_the_own_subscription_states_what_is_lost_and_asks_for_the_name(managed):
    outcome = managed.command("ann", "durable", "remove", "billing")
    assert outcome.err.startswith("durable subscription billing of account ann at a, with 0 clients and 3 unacknow")
    assert outcome.code == 2
    outcome = managed.command("ann", "durable", "remove", "billing", "--confirm", "billing", "--json")
    assert (outcome.code, json.loads(outcome.out)) == (0, {"home": "a", "name": "billing", "messages": 3})


def test_a_client_that_may_only_watch_lists_and_changes_nothing(managed):
    assert [row["name"] for row in managed.listed("watcher")] == ["billing"]
    outcome = managed.command("watcher", *REMOVE, "--confirm", "billing")
    assert (outcome.code, outcome.err) == (
        1,
        "error: you may not change durable subscriptions of other accounts; ask the operator for `manage = true`\n",
    )
    outcome = managed.command("watcher", "durable", "forget", "a", "--confirm", "a")
    assert (outcome.code, outcome.err.startswith("error: you may not make routers forget a home; ask")) == (1, True)
    assert len(managed.listed()) == 1


def test_an_operator_manages_from_python(managed):
    with managed.connect("operator") as operator:
        report = operator.durable_subscriptions()
        assert [(each.account, each.name) for each in report.subscriptions] == [("ann", "billing")]
        assert operator.limit_durable("billing", messages=5, account="ann") == DurableLimits(messages=5)
        with pytest.raises(
            Refused, match="there is no durable subscription 'billing' of account 'operator' at router a"
        ):
            operator.remove_durable("billing")
        assert operator.remove_durable("billing", account="ann") == 3


def test_messages_of_others_are_looked_at_moved_and_removed(managed):
    def run(*words, **options):
        outcome = managed.command("operator", "durable", *words, "--account", "ann", **options)
        return outcome.code, outcome.out, outcome.err

    with managed.connect("ann") as ann:
        ann.subscribe("false", durable="spare").unsubscribe()
    (code, out, _) = run("peek", "billing", "true", "-n", "2", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, [row["offset"] for row in rows], [row["deliveries"] for row in rows]) == (0, [1, 2], [0, 0])
    assert rows[0].keys() == {"message", "payload", "source", "offset", "deliveries", "time"}
    code, out, _ = run("peek", "billing", "--first", "3")
    assert (code, out.startswith("3  20"), out.endswith("  0 deliveries  x = 1\n")) == (0, True, True)
    code, out, err = run("move", "billing", "spare", "-n", "1", stdin=b"no\n")
    assert (code, "messages of durable subscription billing of account ann at a will be moved to spare" in err) == (
        2,
        True,
    )
    assert run("move", "billing", "spare", "-n", "1", "--confirm", "billing")[::2] == (
        0, "moved 1 message of billing at a to spare\n"
    )  # fmt: skip
    purge = ("purge", "billing", "--confirm", "billing", "--json")
    assert json.loads(run(*purge)[1]) == {"home": "a", "name": "billing", "messages": 2}
    assert {row["name"]: row["messages"] for row in managed.listed()} == {"billing": 0, "spare": 1}


def test_a_reload_is_confirmed_by_the_name_of_the_router(managed):
    asked = "router a will read its configuration again\ntype the name a to confirm:\n"
    outcome = managed.command("operator", "reload", stdin=b"b\n")
    assert (outcome.code, outcome.err) == (
        2, f"{asked}error: not confirmed, so 'a' was not changed; confirm with --confirm a\n"
    )  # fmt: skip
    no_file = (
        f"error: {managed.server.address}: this router has no file to reload; start the router with --config FILE\n"
    )
    assert managed.command("operator", "reload", stdin=b"a\n").err == asked + no_file
    assert managed.command("operator", "reload", "--confirm", "a").err == no_file
    with managed.connect("operator") as operator, pytest.raises(Refused, match="this is router 'a', not 'A'; confirm"):
        operator.reload("A")


def test_a_list_of_several_routers_reports_those_that_do_not_answer(managed, cbnet):
    closed = "127.0.0.1:1"
    routers = f"{closed},{managed.server.address}"
    outcome = cbnet("durable", "list", "--json", "--router", routers, "--token", TOKENS["operator"].token)
    failed, row, *_ = map(json.loads, outcome.out.splitlines())
    assert (outcome.code, failed["error"].startswith(f"{closed}: "), row["name"]) == (1, True, "billing")


def test_a_journal_is_backed_up_while_its_router_runs_and_restored(managed, cbnet, tmp_path):
    outcome = managed.command("operator", "durable", "backup", "monday", "--json")
    row = json.loads(outcome.out)
    assert (outcome.code, row["router"]) == (0, "a")
    with managed.connect("ann") as client:
        client.publish_durably([{"x": 2}] * 2)
    folder = tmp_path / "restored"
    outcome = cbnet("durable", "restore", row["file"], str(folder))
    counts = "1 durable subscription and 3 messages"
    assert (outcome.code, outcome.err) == (0, f"restored the journal of a in {folder}, with {counts}\n")
    assert cbnet("durable", "restore", row["file"], str(folder)).code == 2
    with (
        running_http(SecurityPolicy(Access(ACCOUNTS, frozenset())), journal=folder) as server,
        connect(server.address, token=TOKENS["ann"].token) as client,
    ):
        lost = []
        client.on_event = lost.append
        subscription = client.subscribe("", durable="billing")
        assert [subscription.get(timeout=60).message for _ in range(3)] == [{"x": 1}] * 3
        assert [(event.kind, event.messages) for event in lost] == [("lost", None)]
        assert "the journal was restored from a backup: messages stored after it are lost" in lost[0].text
        assert client.publish({"x": 3}, durable=True).subscriptions == 1


def test_only_operators_back_up_a_journal(managed):
    outcome = managed.command("ann", "durable", "backup")
    assert outcome.code != 0
    assert "you may not back up the journal; ask the operator for `manage = true`" in outcome.err
    assert managed.command("operator", "durable", "backup", "../up").err.startswith("error: not the name of a backup")
