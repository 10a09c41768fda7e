"""Metrics of durable subscriptions, accounts and the journal."""

import re
from pathlib import Path

import pytest
from tests.support.durable_networks import DurableLab, billing_lab, report

from cbnet.network.durable.home_log.journal import COMMIT_BOUNDS, JournalStatistics
from cbnet.network.http.monitoring import metrics as module
from cbnet.network.http.monitoring.metrics import durable_metrics
from cbnet.network.protocol.frames import DurableLimits, DurableRemove
from cbnet.network.transport.journals.sqlite_journal import SqliteJournal

DOCUMENT = (Path(__file__).parents[4] / "docs" / "how-to" / "run-a-router.md").read_text()


def samples(net):
    """Return the value of each series, by name and the values of its labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in durable_metrics(net.memory.router("a").durable)
        for sample in family.samples
    }


def of(all, name, *labels):
    """Return messages, bytes, unacknowledged, lost and redelivered."""
    parts = ("messages", "bytes", "unacknowledged", "lost_total", "redelivered_total")
    return tuple(all[f"{name}_{part}", *labels] for part in parts)


def test_a_subscription_and_its_account_have_metrics():
    net, alice, bob = billing_lab(acknowledges=lambda _: False, limits=DurableLimits(2, policy="drop oldest"))
    bob.subscribe_durable(2, "empty", "y > 0")
    for n in range(3):
        alice.publish_durable({"x": 1}, str(n).encode())
        net.run(0.1)
    net.run(0.9)
    all = samples(net)
    size = report(net, bob).subscriptions[0].bytes
    assert of(all, "cbnet_durable", "", "billing") == (2, size, 2, 1, 0)  # the oldest of three was dropped
    assert of(all, "cbnet_durable", "", "empty") == (0, 0, 0, 0, 0)
    assert of(all, "cbnet_durable_account", "") == (2, size, 2, 1, 0)
    assert all["cbnet_durable_subscriptions",] == 2
    oldest = all["cbnet_durable_oldest_timestamp_seconds", "", "billing"]
    assert net.disks["a"].time() - oldest == pytest.approx(
        1.6, abs=0.05
    )  # the second of three, 0.1 s apart; then 0.9 and 0.5 s
    assert all["cbnet_durable_oldest_timestamp_seconds", "", "empty"] == 0
    assert all["cbnet_durable_account_oldest_timestamp_seconds", ""] == oldest
    net.run(5)  # the timeout of acknowledgements
    assert samples(net)["cbnet_durable_redelivered_total", "", "billing"] == 2


def test_the_counters_of_an_account_do_not_decrease_when_a_subscription_is_removed():
    net, alice, bob = billing_lab(acknowledges=lambda _: False, limits=DurableLimits(1, policy="drop oldest"))
    for _ in range(3):
        alice.publish_durable({"x": 1})
    net.run(1)
    del bob.durable[1]
    bob.send(DurableRemove(1, "billing"))
    net.run(1)
    all = samples(net)
    assert of(all, "cbnet_durable_account", "") == (0, 0, 0, 2, 0)
    assert ("cbnet_durable_messages", "", "billing") not in all


def test_the_number_of_labels_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "MAX_LABELS", 3)
    net = DurableLab("a")
    client = net.client("a")
    for n in range(5):
        client.subscribe_durable(n, f"s{n}", "x > 0")
    net.run(2)
    all = samples(net)
    assert [key[2] for key in all if key[0] == "cbnet_durable_messages"] == ["s0", "s1", "s2"]
    assert all["cbnet_durable_subscriptions",] == 5
    client.publish_durable({"x": 1})
    client.acknowledges = lambda _: False
    net.run(1)
    assert samples(net)["cbnet_durable_account_messages", ""] == 5
    assert "At most 500 durable subscriptions, and 500 accounts," in DOCUMENT


def test_the_state_of_the_journal_is_a_metric():
    def states(net):
        all = samples(net)
        return [state for state in ("writable", "short", "stalled", "standby") if all["cbnet_journal_state", state]]

    net, alice, _ = billing_lab()
    assert states(net) == ["writable"]
    net.disks["a"].is_short = True
    alice.publish_durable({"x": 1})
    net.run(1)
    assert states(net) == ["short"]
    net.disks["a"].is_full = True
    alice.acknowledges = lambda _: True
    net.client("a").subscribe_durable(1, "new", "y > 0")
    net.run(1)
    assert states(net) == ["stalled"]


def test_transactions_are_in_a_histogram_and_in_the_report():
    net, alice, bob = billing_lab()
    net.disks["a"].delay = 0.03
    before = samples(net)["cbnet_journal_commit_seconds_count",]
    for _ in range(10):
        alice.publish_durable({"x": 1})
        net.run(0.2)
    all = samples(net)
    count = all["cbnet_journal_commit_seconds_count",]
    assert count >= before + 10
    within = {key[1]: value for key, value in all.items() if key[0] == "cbnet_journal_commit_seconds_bucket"}
    assert (within["0.005"], within["0.02"], within["0.05"]) == (before, before, count)
    journal = report(net, bob).journal
    assert (journal.state, journal.p99, journal.bytes) == ("writable", 0.05, 0)


def test_quantiles_are_bounds():
    statistics = JournalStatistics()
    assert statistics.quantile(0.5) == 0.0
    for milliseconds in range(1, 101):
        statistics.committed(milliseconds / 1000)
    assert [statistics.quantile(each) for each in (0.01, 0.5, 0.51, 1.0)] == [0.001, 0.05, 0.1, 0.1]
    statistics.committed(1_000.0)
    assert statistics.quantile(1.0) > COMMIT_BOUNDS[-1]


def test_the_size_of_a_journal_is_that_of_its_files(tmp_path):
    journal = SqliteJournal(tmp_path, "a")
    size = journal.size()
    assert size.used == sum(path.stat().st_size for path in tmp_path.iterdir())
    assert size.disk > 0
    journal.close()


def test_a_router_without_a_home_has_no_such_metrics():
    assert samples(DurableLab("a", diskless="a")) == {}


def test_the_document_lists_all_metrics():
    net, _, _ = billing_lab()
    statistics = net.memory.router("a").durable.held.journal.statistics
    statistics.size = (1, 2, 3)
    names = {
        family.name + ("_total" if family.type == "counter" else "")
        for family in durable_metrics(net.memory.router("a").durable)
    }
    documented = set(re.findall(r"`(cbnet_(?:durable|journal)_\w+)`", DOCUMENT))
    assert documented == names
