"""Publishers over TCP, HTTP and WebSockets, and full durable subscriptions of another account."""

import json

import pytest
from support.http_servers import running_http
from websockets.sync.client import connect as connect_socket

from cbnet import connect
from cbnet.errors import InputError
from cbnet.network import DurableLimits, NotStored, Refused
from cbnet.network.protocol.frames import Refusals
from cbnet.network.security.access import Access, Account, SecurityPolicy
from cbnet.network.security.rights import Rights
from cbnet.network.security.tokens import new_token

TOKENS = {name: new_token(name) for name in ("ann", "bob", "watcher")}
ACCOUNTS = {name: Account(Rights(watch=name == "watcher", manage=False), token.hash) for name, token in TOKENS.items()}
REFUSES = "a: durable subscription small of account 'ann' refuses it"
REFUSE = "a: 1 durable subscription of other accounts refuses it"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A router where ann has a full subscription, and bob one without limits."""
    folder = tmp_path_factory.mktemp("journal")
    with running_http(SecurityPolicy(Access(ACCOUNTS, frozenset())), journal=folder) as running:
        with connect(running.address, token=TOKENS["ann"].token) as ann:
            ann.subscribe("x > 0", durable="small", limits=DurableLimits(messages=1)).unsubscribe()
            with connect(running.address, token=TOKENS["bob"].token) as bob:
                bob.subscribe("x > 0", durable="large", wait=True).unsubscribe()
                bob.publish({"x": 1}, durable=True)
        yield running


@pytest.fixture
def bob(server):
    with connect(server.address, token=TOKENS["bob"].token) as client:
        yield client


def test_a_receipt_counts_the_subscriptions_of_others_that_refuse(server, bob):
    receipts = bob.publish_durably([{"x": 1}, {"x": 0}])
    assert [(each.subscriptions, each.refused_by_others) for each in receipts] == [(1, 1), (0, 0)]
    assert (receipts[0].is_stored, receipts[0].others) == (True, {"a": Refusals(1, [])})
    with connect(server.address, token=TOKENS["watcher"].token) as watcher:
        assert watcher.publish({"x": 1}, durable=True).others == {"a": Refusals(1, [("ann", "small")])}


@pytest.mark.parametrize(("require", "reason"), [("all", REFUSE), ([("ann", "small")], REFUSES)])
def test_a_required_subscription_that_refuses_is_an_error(bob, require, reason):
    with pytest.raises(NotStored) as caught:
        bob.publish({"x": 1}, durable=True, require=require)
    (receipt,) = caught.value.receipts
    assert (receipt.subscriptions, receipt.refused, receipt.others) == (0, [reason], {})
    assert bob.publish({"x": 1}, durable=True, require=[("bob", "large")]).subscriptions == 1


def test_what_cannot_be_required_is_refused(bob):
    with pytest.raises(Refused, match="no durable subscription 'none' of account 'ann' is known"):
        bob.publish({"x": 1}, durable=True, require=[("ann", "none")])
    for require, problem in (("some", "require='some' is not valid"), ([("a", "b")] * 65, "65 required subscriptions")):
        with pytest.raises(InputError, match=problem):
            bob.publish({"x": 1}, durable=True, require=require)
    with pytest.raises(InputError, match="require needs durable=True"):
        bob.publish({"x": 1}, require="all")


def test_the_command_counts_refusals_and_has_an_option_to_require_subscriptions(server, cbnet):
    command = ("pub", "x=1", "--router", server.address, "--token", TOKENS["bob"].token, "--durable")
    stored = "published 2 messages at a; stored by 1 durable subscription"
    outcome = cbnet(*command, "--count", "2")
    assert (outcome.code, outcome.err) == (
        0, f"{stored}; durable subscriptions of other accounts refused 2 messages\n"
    )  # fmt: skip
    counts = {"published": 1, "router": "a", "subscriptions": [1, 1], "refused_by_others": 1}
    assert json.loads(cbnet(*command, "--json").out) == counts
    for required, reason in (("all", REFUSE), ("ann/small", REFUSES)):
        outcome = cbnet(*command, "--require", required)
        assert (outcome.code, outcome.err) == (
            1, f"error: the message is not stored by all durable subscriptions: {reason}\n"
        )  # fmt: skip
    outcome = cbnet(*command, "--require", "small")
    assert outcome.err == "error: 'small' names no durable subscription; use all, or ACCOUNT/NAME\n"
    assert cbnet(*command[:-1], "--require", "all").err.startswith("error: --require needs --durable")


def test_http_counts_refusals_and_requires_subscriptions(server):
    with server.client(TOKENS["bob"].token) as client:
        url = "/publish?durable=true"
        answer = client.post(url, json={"x": 1}).json()
        assert answer == {"published": 1, "router": "a", "subscriptions": [1], "refused_by_others": [1]}
        assert "refused_by_others" not in client.post(url, json={"x": 0}).json()
        lines = client.post(url, content='{"x": 1}\n{"x": 1}', headers={"Content-Type": "application/jsonl"})
        assert lines.json() == {"published": 2, "router": "a", "refused_by_others": 2}
        for required, reason in (("all", REFUSE), ("ann/small", REFUSES)):
            failed = client.post(f"{url}&require={required}", json={"x": 1})
            assert (failed.status_code, failed.json()["detail"].rpartition("subscriptions: ")[2]) == (504, reason)
        assert client.post("/publish?require=all", json={"x": 1}).json()["detail"] == "require needs durable=true"


def test_a_web_socket_counts_refusals_and_requires_subscriptions(server):
    headers = {"Authorization": f"Bearer {TOKENS['bob'].token}"}
    with connect_socket(f"ws://{server.http}/ws", additional_headers=headers) as socket:
        socket.recv(timeout=60)
        publish = {"op": "publish", "message": {"x": 1}, "durable": True, "number": 1}
        socket.send(json.dumps(publish))
        answer = {"op": "published", "subscriptions": [1], "refused_by_others": [1], "number": 1}
        assert json.loads(socket.recv(timeout=60)) == answer
        socket.send(json.dumps({**publish, "require": "all"}))
        assert json.loads(socket.recv(timeout=60))["detail"].endswith(REFUSE)
