"""When a router makes a new version of its own record, and how it defends it."""

import logging

import pytest
from support.link_networks import LinkNetwork, LinkRouter

from cbnet.network.link.context import Send
from cbnet.network.linkstate.records import RecordVersion
from cbnet.network.protocol.fields import MAX_INT
from cbnet.network.protocol.frames import LinkField, LinkRecord, RecordEntry, RecordRequest, RecordSummary


def linked(seconds=0.2, **settings):
    """Return a router a that has run for some time, with the neighbours b and c over the links 1 and 2."""
    router = LinkRouter("a", incarnation=100, **settings)
    for link, name in enumerate("bc", 1):
        router.greet(link, name)
    router.wait(seconds, answering=(1, 2))
    return router


def records(actions, link=1):
    return [a.frame for a in actions if isinstance(a, Send) and isinstance(a.frame, LinkRecord) and a.link == link]


def warnings(caplog):
    return [line.getMessage() for line in caplog.records if line.levelno == logging.WARNING]


def forged(incarnation, sequence, changes=1):
    return LinkRecord("a", incarnation, sequence, changes, 0, {})


def test_changes_close_together_are_one_version():
    router = linked()
    first = router.greet(3, "d")
    later = router.greet(4, "e") + router.greet(5, "f")
    assert [sorted(each.neighbours) for each in records(first)] == [["b", "c", "d"]]
    assert records(later) == []
    assert [sorted(each.neighbours) for each in records(router.wait(0.1))] == [["b", "c", "d", "e", "f"]]


def test_record_has_the_sessions_of_parallel_links():
    router = linked()
    before = router.own.changes
    (record,) = records(router.greet(3, "b", peer_link=2))
    sessions = sorted(router.links.get(link).session for link in (1, 3))
    assert record.neighbours["b"] == LinkField(1, sessions)
    assert router.own.changes == before + 1
    router.wait(0.1)
    (record,) = records(router.close(3))
    assert record.neighbours["b"].sessions == [router.links.get(1).session]


def test_renewal_is_a_new_version_with_the_same_changes():
    router = linked(refresh=2.0, lifetime=5.0)
    version, changes = router.own.version, router.own.changes
    (record,) = records(router.wait(2.2, answering=(1, 2)))
    assert (record.sequence, record.changes) == (version.sequence + 1, changes)


def test_record_is_current_once_it_is_originated():
    router = linked()
    assert router.own.is_current
    router.links.leave()
    assert not router.own.is_current
    (record,) = records(router.wait(0.1))
    assert router.own.is_current
    assert {link.weight for link in record.neighbours.values()} == {1_000_000}


@pytest.mark.parametrize(
    "frame",
    [
        forged(5, 70),
        RecordSummary("links", [RecordEntry("a", 5, 70)]),
        RecordRequest("links", [RecordEntry("a", 5, 70)]),
    ],
)
def test_first_record_of_another_incarnation_is_superseded_without_a_warning(frame, caplog):
    router = linked()
    (record,) = records(router.say(1, frame))  # at once
    assert (record.sequence, record.incarnation) == (71, 100)
    assert router.database.version("a") == RecordVersion(71, 100)
    assert router.context.counters["records_superseded"] == 1
    assert warnings(caplog) == []


def test_present_and_older_versions_are_ignored():
    router = linked()
    before = router.own.version
    own = router.database.record("a", 0.0)
    for frame in (own, forged(1, 1), RecordSummary("links", [RecordEntry("a", before.incarnation, before.sequence)])):
        assert records(router.say(1, frame) + router.wait(0.3)) == []
    assert router.own.version == before


def test_record_that_comes_again_is_reported_with_the_neighbour(caplog):
    router = linked(6.0)
    router.say(1, forged(5, 70))
    router.wait(0.5, answering=(1, 2))
    router.say(2, forged(5, 72))
    (line,) = [line for line in caplog.records if line.levelno == logging.WARNING]
    assert line.getMessage() == "foreign record"
    assert (line.members["name"], line.members["neighbour"]) == ("a", "c")
    assert "another router is named 'a', or a record of this one was forged" in line.members["reason"]


def test_records_of_several_earlier_incarnations_just_after_the_start_are_no_warning(caplog):
    router = linked()
    for incarnation in (5, 6, 7):
        router.say(1, forged(incarnation, 10 * incarnation))
        router.wait(0.5, answering=(1, 2))
    assert router.own.version.incarnation == 100
    assert router.own.version.sequence == 71
    assert warnings(caplog) == []


def test_record_of_another_incarnation_is_reported_when_no_earlier_incarnation_can_be_known(caplog):
    router = linked(6.0, refresh=1.0, lifetime=2.0)
    router.say(1, forged(5, 70))
    assert warnings(caplog) == ["foreign record"]


@pytest.mark.parametrize("ahead", [1, 0])
def test_forged_record_of_this_incarnation_is_outbid_and_reported(ahead, caplog):
    router = linked()
    version, changes = router.own.version, router.own.changes
    (record,) = records(router.say(1, forged(100, version.sequence + ahead, changes)))
    assert record.sequence == version.sequence + ahead + 1
    assert record.changes == changes + 1  # else two topologies could have one id
    assert sorted(record.neighbours) == ["b", "c"]
    assert warnings(caplog) == ["foreign record"]


def test_record_half_the_circle_ahead_is_outbid_over_a_version_between():
    router = linked()
    half, own = (MAX_INT + 1) // 2, router.own.version.sequence
    (between,) = records(router.say(1, forged(5, own + half)))
    assert between.sequence == own + half // 2 + 1
    (last,) = records(router.wait(0.5, answering=(1, 2)))
    assert last.sequence == own + half + 1


def test_record_of_the_highest_incarnation_and_sequence_is_outbid_or_ignored():
    router = linked()
    assert records(router.say(1, forged(MAX_INT, MAX_INT))) == []  # it is older: others ignore it too
    router.say(1, forged(MAX_INT, MAX_INT // 2))
    router.wait(0.8, answering=(1, 2))
    done = router.say(1, forged(MAX_INT, MAX_INT)) + router.wait(0.5, answering=(1, 2))
    assert [(record.sequence, record.incarnation) for record in records(done)][-1] == (0, 100)


def test_two_routers_of_one_name_flood_a_few_records_per_second(caplog):
    router = linked(6.0)
    made = 0
    for sequence in range(100, 130):
        made += len(records(router.say(1, forged(5, 2 * sequence)) + router.wait(0.1, answering=(1, 2)), link=2))
    assert 10 <= made <= 13  # in three seconds
    assert warnings(caplog) == ["foreign record"]  # one in five seconds


def test_two_routers_of_one_name_are_reported_at_both(caplog):
    net = LinkNetwork("a-b b-c")
    net.start("a", key="another a")
    net.connect("another a", "c")
    net.run(6.0)
    reported = [router for router in ("a", "another a") if net.routers[router].context._warned]
    assert reported == ["a", "another a"]
    assert set(warnings(caplog)) == {"foreign record"}
