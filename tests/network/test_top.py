"""`cbnet top` with router processes."""

import json
import signal

import pytest

from cbnet import connect
from cbnet.cli.network.connection_options import NetworkAddresses
from cbnet.network import ProcessNetwork, Settings


@pytest.fixture(scope="module")
def chain():
    with ProcessNetwork([Settings(name) for name in "abc"], [("a", "b"), ("b", "c")]) as started:
        started.wait()
        yield started


@pytest.fixture
def folder(chain, tmp_path):
    NetworkAddresses("cbnet", chain.addresses).write(tmp_path)
    return tmp_path


def rows(outcome):
    assert outcome.code == 0, outcome.err
    return {row["router"]: row for row in map(json.loads, outcome.out.splitlines())}


def test_top_reports_the_state_of_each_router(chain, folder, cbnet):
    with connect(str(chain.addresses["c"])) as subscriber, connect(str(chain.addresses["a"])) as publisher:
        subscription = subscriber.subscribe("x > 2 or y = 1", wait=True)
        for x in range(10):
            publisher.publish({"x": x}, wait=True)
        assert [subscription.get(timeout=60).message["x"] for _ in range(7)] == [3, 4, 5, 6, 7, 8, 9]
        report = rows(cbnet("top", "--network", folder, "--json"))
    assert list(report) == ["a", "b", "c"]
    assert [report[name]["neighbours"] for name in "abc"] == [["b"], ["a", "c"], ["b"]]
    assert all(row["answers"] and row["reachable"] == 3 and row["filters"] == 2 for row in report.values())
    assert all(row["is_complete"] for row in report.values())
    filters = {
        (name, interface["neighbour"]): (interface["held"], interface["announced"])
        for name in "abc"
        for interface in report[name]["interfaces"]
    }
    assert filters == {("a", "b"): (2, 0), ("b", "a"): (0, 2), ("b", "c"): (2, 0), ("c", "b"): (0, 2)}
    assert [report[name]["clients"] for name in "abc"] == [1, 0, 1]
    assert [report[name]["subscriptions"] for name in "abc"] == [0, 0, 1]
    assert [report[name]["published"] for name in "abc"] == [10, 0, 0]
    assert [report[name]["delivered"] for name in "abc"] == [report[name]["matched"] for name in "abc"] == [0, 0, 7]
    assert all(row["in_per_s"] is not None and row["dropped"] == {} for row in report.values())


def test_top_prints_a_table(folder, cbnet, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    outcome = cbnet("top", "--network", folder, "--once")
    assert (outcome.code, outcome.err) == (0, "")
    assert "network cbnet: 3 of 3 routers answer" in outcome.out
    for head in ("router", "links", "filters", "in/s", "out/s", "deliv.", "drops"):
        assert head in outcome.out


def test_top_prints_the_interfaces(folder, cbnet, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    outcome = cbnet("top", "--network", folder, "--once", "--interfaces")
    assert (outcome.code, outcome.err) == (0, "")
    lines = [line.split() for line in outcome.out.splitlines()]
    assert ["b", "a", "0", "1", "0", "0", "0", "complete"] in lines
    assert ["a", "b", "0", "2", "0", "0", "0", "complete"] in lines


def test_top_accepts_addresses(chain, cbnet):
    report = rows(cbnet("top", "--router", f"{chain.addresses['a']},{chain.addresses['c']}", "--json"))
    assert list(report) == ["a", "c"]


def test_top_fits_80_columns_and_counts_routers_that_are_not_listed(chain, cbnet, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    outcome = cbnet("top", "--router", str(chain.addresses["a"]), "--once")
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert "2 more routers reachable: list addresses in --router, or use --network FOLDER" in outcome.out


def test_top_accepts_one_router_of_a_network(folder, cbnet):
    assert list(rows(cbnet("top", "--network", folder, "--router", "b", "--json"))) == ["b"]


def test_killed_router_is_named(cbnet, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with ProcessNetwork([Settings(name) for name in "ab"], [("a", "b")]) as pair:
        pair.wait()
        NetworkAddresses("cbnet", pair.addresses).write(tmp_path)
        pair.kill("b")
        outcome = cbnet("top", "--network", tmp_path, "--once")
        report = rows(cbnet("top", "--network", tmp_path, "--json"))
    assert outcome.code == 0
    assert "1 of 2 routers answer" in outcome.out
    assert "no answer from b" in outcome.err
    assert [report[name]["answers"] for name in "ab"] == [True, False]


def test_stopped_router_is_named(chain, folder, cbnet, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    chain.signal("c", signal.SIGSTOP)
    try:
        outcome = cbnet("top", "--network", folder, "--once")
        report = rows(cbnet("top", "--network", folder, "--json"))
    finally:
        chain.signal("c", signal.SIGCONT)
    assert outcome.code == 0
    assert "2 of 3 routers answer" in outcome.out
    assert "no answer from c" in outcome.err
    assert [report[name]["answers"] for name in "abc"] == [True, True, False]
    chain.wait()


def test_no_answer_at_all_is_an_error(cbnet):
    outcome = cbnet("top", "--router", "127.0.0.1:1", "--once")
    assert (outcome.code, outcome.out) == (1, "")
    assert "no router answers at 127.0.0.1:1" in outcome.err


def test_router_of_another_network_is_an_error(chain, cbnet):
    outcome = cbnet("top", "--router", str(chain.addresses["a"]), "--network", "other", "--once")
    assert outcome.code == 2
    assert "is a router of the network 'cbnet'" in outcome.err
