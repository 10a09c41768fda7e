"""The setting `history` of a router over several starts: absent, empty, or another predicate."""

from tests.support.durable_networks import answers, history_lab, numbers, payloads, publish

from cbnet.network.durable.home_log.journal import HISTORY_ID
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import DurableLost, DurableQuery, DurableReport, HistoryStart

FIRST = HistoryStart()


def history(net, client):
    client.send(DurableQuery(1))
    net.run(0.5)
    return answers(client, DurableReport)[-1].history


def restart(net, **settings):
    """Start the router a again, with other settings."""
    net.kill("a")
    net.memory.hosts["a"].settings = Settings("a", **settings)
    net.start("a")
    net.run(3)


def test_a_start_without_the_setting_keeps_the_messages(caplog):
    net, alice, _ = history_lab(history_age=20.0)
    publish(net, alice, numbers(3))
    net.run(5)
    restart(net, history_age=20.0)
    assert history(net, alice) is None
    (line,) = [record for record in caplog.records if record.getMessage() == "history unused"]
    assert (line.levelname, line.members["messages"], line.members["predicate"]) == ("WARNING", 3, "x > 0")
    number = alice.publish_durable({"x": 1}, b"not kept")
    net.run(60)
    assert alice.receipts[number].silent == []  # no publisher waits for the history
    restart(net)
    begun = net.memory.now
    restart(net, history="x > 0", history_age=1_000.0)
    publish(net, alice, [b"3"])
    assert begun <= history(net, alice).complete <= begun + 1
    carol = net.client("a")
    carol.replay(1, "x > 0", FIRST)
    net.run(1)
    assert payloads(carol) == numbers(4)
    assert [lost.cause for lost in answers(carol, DurableLost)] == [
        "a kept no history for a time: messages that were published meanwhile are missing"
    ]
    carol.replay(2, "x > 0", HistoryStart(age=500.0))
    net.run(1)
    assert "the history of a is complete for the last 6 s only" in [lost.cause for lost in answers(carol, DurableLost)]


def test_an_empty_setting_removes_the_messages(caplog):
    net, alice, bob = history_lab()
    publish(net, alice, numbers(3))
    restart(net, history="")
    (line,) = [record for record in caplog.records if record.getMessage() == "history removed"]
    assert (line.levelname, line.members) == ("WARNING", {"messages": 3, "predicate": "x > 0"})
    assert net.disks["a"].entries(HISTORY_ID) == {}
    caplog.clear()
    restart(net)
    assert "history" not in caplog.text
    restart(net, history="x > 0")
    publish(net, alice, [b"3"])
    bob.replay(1, "x > 0", FIRST)
    net.run(1)
    assert [(message.offset, message.payload) for message in bob.stored] == [(4, b"3")]  # offsets never run back
    assert answers(bob, DurableLost) == []


def test_another_predicate_keeps_the_messages_and_notes_it():
    net, alice, bob = history_lab()
    publish(net, alice, [b"0"], y=1)
    restart(net, history="y > 0")
    publish(net, alice, [b"1"], y=1)
    bob.replay(1, "y > 0", FIRST)
    net.run(1)
    assert payloads(bob) == [b"0", b"1"]
    assert [lost.cause for lost in answers(bob, DurableLost)] == [
        "the history of a had another predicate before",
        "a was restarted: messages that were published meanwhile may be missing",
    ]
