"""How records spread: what is new is passed on, what is lacking is asked for."""

import pytest
from support.memory_networks import Alone, Lab, links_of, sent, shut

from cbnet import parse_filter
from cbnet.network.linkstate import flooding
from cbnet.network.linkstate.records import Key, RecordKind, Version
from cbnet.network.protocol.filter_codec import filter_to_bytes
from cbnet.network.protocol.frames import (
    FilterChange,
    FilterRecord,
    LinkRecord,
    RecordEntry,
    RecordRequest,
    RecordSummary,
    Subscribe,
    Unsubscribe,
)


def written(*texts):
    return [filter_to_bytes(parse_filter(text)) for text in texts]


def three():
    """Return a router a with the neighbours b, c and d."""
    alone = Alone("a")
    for link, name in enumerate("bcd", 1):
        alone.router_link(link, name)
    alone.wait(0.2)
    return alone


def predicate(alone, owner):
    return {str(filter) for filter in alone.router.database.predicates.predicate(owner)}


def test_new_neighbour_gets_a_summary():
    alone = Alone("a", life=100)
    (summary,) = sent(alone.router_link(1, "b"), RecordSummary)
    assert summary.entries == [
        RecordEntry("a", RecordKind.LINKS, 100, 1),
        RecordEntry("a", RecordKind.PREDICATE, 100, 1),
    ]


def test_only_missing_records_are_requested():
    alone = three()
    alone.say(1, LinkRecord("x", 1, 5, 0, {"b": 1}))
    entries = [
        RecordEntry("x", RecordKind.LINKS, 1, 5),
        RecordEntry("x", RecordKind.PREDICATE, 1, 9),
        RecordEntry("y", RecordKind.LINKS, 1, 1),
    ]
    asked = sent(alone.say(2, RecordSummary(entries)), RecordRequest, link=2)
    assert [(entry.owner, entry.kind) for want in asked for entry in want.entries] == [("x", 1), ("y", 0)]


def test_requested_record_is_sent_with_its_age():
    alone = three()
    alone.say(1, LinkRecord("x", 1, 5, 2_000, {"b": 1}))
    alone.wait(0.5)
    wanted = [RecordEntry("x", 0, 0, 0), RecordEntry("nobody", 0, 0, 0)]
    # Half a second here, and for the way a thousandth of the 1,800 s that a record lives.
    assert sent(alone.say(2, RecordRequest(wanted)), LinkRecord) == [
        LinkRecord("x", 1, 5, 2_000 + 500 + 1_800, {"b": 1})
    ]


def test_a_record_grows_older_with_every_router_that_takes_it_and_so_does_not_go_round_for_ever():
    alone = Alone("a", refresh=4.0, lifetime=13.0)
    for link, name in enumerate("bc", 1):
        alone.router_link(link, name)
    done = alone.say(1, LinkRecord("x", 1, 5, 12_980, {"b": 1}))
    assert sent(done, LinkRecord, link=2)[0].age == 12_993
    alone.wait(0.1)
    assert "x" not in alone.router.database.routers()
    done = alone.say(2, LinkRecord("x", 1, 5, 12_993, {"b": 1}))  # it comes round
    assert links_of(done, LinkRecord) == []


def test_links_that_are_new_are_passed_on_to_the_others_once():
    alone = three()
    frame = LinkRecord("x", 1, 5, 0, {"b": 1})
    assert links_of(alone.say(1, frame), LinkRecord) == [2, 3]
    assert links_of(alone.say(2, frame), LinkRecord) == []
    assert alone.router.counters["records_stale"] == 1


def test_a_change_is_passed_on():
    alone = three()
    done = alone.say(
        1, FilterChange(owner="x", life=1, sequence=1, age=0, added=written("x = 1"), removed=[], wants_ack=False)
    )
    assert (
        sent(done, FilterChange)
        == [FilterChange(owner="x", life=1, sequence=1, age=1_800, added=written("x = 1"), removed=[], wants_ack=False)]
        * 2
    )
    assert links_of(done, FilterChange) == [2, 3]
    assert predicate(alone, "x") == {"x = 1"}


def test_change_without_base_requests_the_whole():
    alone = three()
    done = alone.say(
        1, FilterChange(owner="x", life=1, sequence=7, age=0, added=written("x = 1"), removed=[], wants_ack=False)
    )
    assert links_of(done, FilterChange) == []
    assert links_of(done, RecordRequest) == [1]
    alone.say(1, FilterRecord(owner="x", life=1, sequence=7, age=0, filters=written("x = 1", "y = 1"), is_last=True))
    assert predicate(alone, "x") == {"x = 1", "y = 1"}


def test_small_whole_predicate_is_forwarded_and_a_large_one_announced():
    alone = three()
    done = alone.say(1, FilterRecord(owner="x", life=1, sequence=7, age=0, filters=written("x = 1"), is_last=True))
    assert (
        sent(done, FilterRecord)
        == [FilterRecord(owner="x", life=1, sequence=7, age=1_800, filters=written("x = 1"), is_last=True)] * 2
    )
    assert links_of(done, FilterRecord) == [2, 3]
    done = alone.say(
        1,
        FilterRecord(
            owner="x", life=1, sequence=8, age=0, filters=written(*(f"x = {n}" for n in range(100))), is_last=True
        ),
    )
    assert sent(done, FilterRecord) == []
    assert [frame.entries for frame in sent(done, RecordSummary)] == [[RecordEntry("x", 1, 1, 8)]] * 2
    assert links_of(done, RecordSummary) == [2, 3]


def test_a_whole_in_parts_counts_when_its_last_part_is_here():
    alone = three()
    alone.say(1, FilterRecord(owner="x", life=1, sequence=7, age=0, filters=written("x = 1"), is_last=False))
    alone.say(
        2, FilterRecord(owner="x", life=1, sequence=7, age=0, filters=written("x = 3"), is_last=False)
    )  # by another link: not mixed up
    assert predicate(alone, "x") == set()
    alone.say(1, FilterRecord(owner="x", life=1, sequence=7, age=0, filters=written("x = 2"), is_last=True))
    assert predicate(alone, "x") == {"x = 1", "x = 2"}


def test_parts_of_different_versions_are_not_put_together():
    alone = three()
    alone.say(1, FilterRecord(owner="x", life=1, sequence=7, age=0, filters=written("x = 1"), is_last=False))
    alone.say(1, FilterRecord(owner="x", life=1, sequence=8, age=0, filters=written("x = 2"), is_last=True))
    assert predicate(alone, "x") == {"x = 2"}


def test_a_large_predicate_is_sent_in_parts(monkeypatch):
    monkeypatch.setattr(flooding, "MAX_PART_BYTES", 20)
    alone = three()
    filters = written(*(f"x = {n}" for n in range(10)))
    alone.say(1, FilterRecord(owner="x", life=1, sequence=7, age=0, filters=filters, is_last=True))
    parts = sent(alone.say(2, RecordRequest([RecordEntry("x", 1, 0, 0)])), FilterRecord)
    assert len(parts) > 2
    assert [part.is_last for part in parts] == [False] * (len(parts) - 1) + [True]
    assert [filter for part in parts for filter in part.filters] == filters


def test_a_predicate_without_filters_is_one_part():
    alone = three()
    (part,) = sent(alone.say(2, RecordRequest([RecordEntry("a", 1, 0, 0)])), FilterRecord)
    assert (part.filters, part.is_last) == ([], True)


def test_a_predicate_of_too_many_filters_closes_the_link(monkeypatch):
    monkeypatch.setattr(flooding, "MAX_NODE_FILTERS", 3)
    alone = three()
    done = alone.say(
        1, FilterRecord(owner="x", life=1, sequence=7, age=0, filters=written("x = 1", "x = 2", "x = 3"), is_last=False)
    )
    assert shut(done) == {}
    done = alone.say(1, FilterRecord(owner="x", life=1, sequence=7, age=0, filters=written("x = 4"), is_last=False))
    assert shut(done) == {1: "the predicate of x is too large"}


def test_a_predicate_of_too_many_bytes_closes_the_link(monkeypatch):
    monkeypatch.setattr(flooding, "MAX_NODE_BYTES", 20)
    alone = three()
    done = alone.say(
        1,
        *[
            FilterRecord(owner="x", life=1, sequence=7, age=0, filters=written(f"x = {n}"), is_last=False)
            for n in range(4)
        ],
    )
    assert shut(done) == {1: "the predicate of x is too large"}


def test_installed_predicate_is_matched():
    alone = three()
    alone.say(
        1,
        FilterRecord(owner="x", life=1, sequence=7, age=0, filters=written("x = 1", "y > 1"), is_last=True),
        FilterChange(owner="x", life=1, sequence=8, age=0, added=written("z = 1"), removed=[], wants_ack=False),
    )
    alone.say(
        1, FilterChange(owner="x", life=1, sequence=9, age=0, added=[], removed=written("x = 1"), wants_ack=False)
    )
    table, slot = alone.router.database.predicates.table, alone.router.database.predicates.slots.take("x")
    assert [table.match(members) for members in ({"x": 1}, {"y": 2}, {"z": 1})] == [[], [slot], [slot]]


def test_a_whole_with_something_that_is_no_filter_closes_the_link_and_changes_nothing():
    alone = three()
    done = alone.say(
        1, FilterRecord(owner="x", life=1, sequence=7, age=0, filters=[*written("x = 1"), b"\xc1"], is_last=True)
    )
    assert shut(done)[1].startswith("invalid filter")
    assert alone.router.database.version(Key("x", RecordKind.PREDICATE)) is None


@pytest.mark.parametrize("field", ["added", "removed"])
def test_a_filter_that_is_none_closes_the_link_and_changes_nothing(field):
    alone = three()
    frame = FilterChange(owner="x", life=1, sequence=1, age=0, added=written("x = 1"), removed=[], wants_ack=False)
    setattr(frame, field, [*written("x = 2"), b"\xc1"])
    done = alone.say(1, frame)
    assert shut(done)[1].startswith("invalid filter")
    assert alone.router.database.version(Key("x", RecordKind.PREDICATE)) is None
    assert links_of(done, FilterChange) == []


def test_record_is_requested_elsewhere_when_a_link_breaks():
    alone = three()
    entries = [RecordEntry("x", RecordKind.LINKS, 1, 5)]
    assert links_of(alone.say(1, RecordSummary(entries)), RecordRequest) == [1]
    assert links_of(alone.say(2, RecordSummary(entries)), RecordRequest) == []
    assert links_of(alone.close(1), RecordRequest) == [2]


def test_a_record_that_is_not_renewed_is_forgotten():
    alone = Alone("a", refresh=2.0, lifetime=5.0)
    alone.router_link(1, "b")
    alone.say(1, LinkRecord("x", 1, 5, 0, {"b": 1}))
    alone.wait(4.0)
    assert "x" in alone.router.database.routers()
    alone.wait(2.0)
    assert alone.router.database.routers() == ["a"]


# --- own records


def test_own_changes_close_together_are_one_version():
    alone = three()
    alone.client_link(9)
    first = alone.say(9, Subscribe(1, "x = 1", 0))
    later = alone.say(9, Subscribe(2, "y = 1", 0), Subscribe(3, "z = 1", 0))
    assert [len(frame.added) for frame in sent(first, FilterChange, link=1)] == [1]
    assert sent(later, FilterChange) == []
    (change,) = sent(alone.wait(0.1), FilterChange, link=1)
    assert sorted(change.added) == written("y = 1", "z = 1")


def test_change_undone_before_it_is_flooded_costs_no_record():
    alone = three()
    alone.client_link(9)
    alone.say(9, Subscribe(1, "x = 1", 0))
    done = alone.say(9, Subscribe(2, "y = 1", 0), Unsubscribe(2)) + alone.wait(0.2)
    assert sent(done, FilterChange) == []


def test_a_covered_subscription_costs_no_record():
    alone = three()
    alone.client_link(9)
    alone.say(9, Subscribe(1, "x > 1", 0))
    alone.wait(0.2)
    assert sent(alone.say(9, Subscribe(2, "x > 2", 0)) + alone.wait(0.2), FilterChange) == []


def test_a_change_that_is_too_large_for_one_frame_is_advertised(monkeypatch):
    monkeypatch.setattr(flooding, "MAX_PART_BYTES", 10)
    alone = three()
    alone.client_link(9)
    done = alone.say(9, Subscribe(1, "x = 1 or y = 1", 0))
    assert sent(done, FilterChange) == []
    assert [entry.owner for frame in sent(done, RecordSummary, link=1) for entry in frame.entries] == ["a"]
    assert predicate(alone, "a") == {"x = 1", "y = 1"}


def test_own_records_are_renewed():
    alone = Alone("a", refresh=2.0, lifetime=5.0)
    alone.router_link(1, "b")
    alone.wait(0.3)
    done = alone.wait(2.2)
    (links,) = sent(done, LinkRecord)
    (change,) = sent(done, FilterChange)
    assert links.neighbours == {"b": 1}
    assert (change.added, change.removed) == ([], [])


@pytest.mark.parametrize("kind", [RecordKind.LINKS, RecordKind.PREDICATE])
def test_record_of_an_earlier_life_is_superseded(kind):
    alone = three()
    before = alone.router.database.version(Key("a", kind))
    alone.say(1, RecordSummary([RecordEntry("a", kind, 5, 70)]))
    alone.wait(0.1)
    assert before.sequence < 70
    assert alone.router.database.version(Key("a", kind)) == Version(71, 100)


def test_own_present_and_older_versions_are_ignored():
    alone = three()
    kinds = (RecordKind.LINKS, RecordKind.PREDICATE)  # it offers nothing, and so says nothing of that
    versions = [alone.router.database.version(Key("a", kind)) for kind in kinds]
    alone.say(
        1,
        RecordSummary(
            [
                RecordEntry("a", kind, version.life, version.sequence)
                for kind, version in zip(kinds, versions, strict=True)
            ]
        ),
    )
    alone.say(1, RecordSummary([RecordEntry("a", kind, 1, 1) for kind in RecordKind]))
    alone.wait(0.2)
    assert [alone.router.database.version(Key("a", kind)) for kind in kinds] == versions


def test_two_routers_of_one_name_do_not_drive_each_other_mad():
    alone = three()
    made = 0
    for sequence in range(100, 130):
        done = alone.say(1, LinkRecord("a", 5, sequence, 0, {})) + alone.wait(0.1)
        made += len(sent(done, LinkRecord, link=2))
    assert made <= 4  # in three seconds


def test_predicate_after_an_earlier_life_is_sent_whole():
    alone = three()
    alone.client_link(9)
    alone.say(9, Subscribe(1, "x = 1", 0))
    alone.wait(0.2)
    done = alone.say(1, RecordSummary([RecordEntry("a", RecordKind.PREDICATE, 5, 70)])) + alone.wait(0.1)
    assert sent(done, FilterChange) == []
    assert [frame.entries for frame in sent(done, RecordSummary, link=2)] == [[RecordEntry("a", 1, 100, 71)]]
    (whole,) = sent(alone.say(2, RecordRequest([RecordEntry("a", 1, 0, 0)])), FilterRecord)
    assert (whole.sequence, whole.filters) == (71, written("x = 1"))


# --- what a change costs


def test_change_crosses_every_link_at_most_twice():
    lab = Lab("a-b b-c c-d d-a a-c")
    before = lab.memory.frames["FilterChange"]
    lab.clients["a"].subscribe(1, "x = 1")
    lab.run(1)
    # Everybody passes it on to all neighbours but the one it came from: 2·5 links - 3 others.
    assert lab.memory.frames["FilterChange"] - before == 7
