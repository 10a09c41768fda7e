"""What a trace tells: every hop, why the message went on, and why not."""

import pytest
from support.memory_networks import Alone, Lab, sent, shut

from cbnet.network.forwarding import traces as hops_module
from cbnet.network.protocol.fields import CAME_FROM_THERE
from cbnet.network.protocol.frames import (
    Branch,
    Hop,
    Packet,
    RefusedFrame,
    Trace,
    TracedFrame,
    TraceEnd,
    TraceMark,
    TraceReport,
)

SCHEMES = pytest.mark.parametrize("settings", [{}, {"trees": 3}, {"scheme": "pif"}], ids=["tree", "trees", "pif"])


def line(**settings):
    """Return a line a - b - c - d with a branch b - e; d wants x > 5, e wants y = 1."""
    lab = Lab("a-b b-c c-d b-e", **settings)
    lab.clients["d"].subscribe(1, "x > 5")
    lab.clients["e"].subscribe(2, "y = 1 and x > 0")
    lab.run(1)
    return lab


def trace():
    return Trace(number=1, attributes={"x": 1}, tags=[], payload=b"", is_dry=True, predicate="", at="")


def traced_packet(alone, mark):
    """Return a packet that comes over link 1, for all on this side."""
    return Packet(
        source="b", incarnation=1, number=5, hops=1, tree=0, side=alone.tree_link(1).near, tries=0, attributes={"x": 1},
        tags=[], payload=b"", mark=mark,
    )  # fmt: skip


def traced(lab, **asked):
    attributes = asked.pop("attributes")
    lab.clients["a"].trace(7, attributes, **asked)
    lab.run(1)
    (end,) = lab.answers("a", TraceEnd)
    assert end.number == 7
    return {answer.hop.router: answer.hop for answer in lab.answers("a", TracedFrame)}, end.missing


@SCHEMES
def test_a_message_that_arrives(settings):
    lab = line(**settings)
    hops, missing = traced(lab, attributes={"x": 6}, is_dry=False)
    assert missing == []
    assert [(hop.router, hop.came_from, hop.hops) for hop in hops.values()] == [
        ("a", "", 0),
        ("b", "a", 1),
        ("c", "b", 2),
        ("d", "c", 3),
    ]
    to_c, *to_a, to_e = hops["b"].branches
    assert to_c == Branch("c", True, 2, ["x > 5"])  # c and d
    assert to_a == ([] if settings.get("scheme") == "pif" else [Branch("a", False, 1, ["the message came from there"])])
    assert to_e == Branch("e", False, 1, ["x > 0 and y = 1: y = 1 fails: y is absent"])
    assert hops["d"].delivered == ["subscription 1 of client of d: x > 5"]
    assert lab.payloads("d") == [b""]


@SCHEMES
def test_trace_of_a_missed_message_names_the_failing_constraint(settings):
    hops, missing = traced(line(**settings), attributes={"x": 5})
    assert missing == []
    assert list(hops) == ["a"]
    (branch,) = hops["a"].branches
    assert (branch.neighbour, branch.is_sent, branch.routers) == ("b", False, 4)
    assert set(branch.why) == {"x > 5: x > 5 fails: x is 5", "x > 0 and y = 1: y = 1 fails: y is absent"}


def test_a_trace_names_the_tree_and_its_root():
    hops, _ = traced(line(roots=("d",)), attributes={"x": 6})
    assert {(hop.tree, hop.root) for hop in hops.values()} == {(0, "d")}
    hops, _ = traced(line(scheme="pif"), attributes={"x": 6})
    assert hops["a"].root == "a"


def test_a_side_whose_stream_has_not_arrived_gets_the_message():
    alone = Alone("a")
    alone.client_link(1)
    alone.leaf(2, "b")
    (hop,) = (answer.hop for answer in sent(alone.say(1, trace()), TracedFrame))
    assert hop.branches == [Branch("b", True, 1, ["what its side wants is not known yet"])]


def test_a_link_that_is_down_is_named():
    alone = Alone("a", settle=0.5)
    alone.client_link(1)
    alone.router_link(2, "b")
    alone.say(2, alone.record(2, "b"))
    alone.wait(0.6)
    alone.announce(2, ["x = 1"])
    alone.close(2)  # b stays on the tree until a new version is due
    (hop,) = (answer.hop for answer in sent(alone.say(1, trace()), TracedFrame))
    assert (hop.branches, hop.dropped) == (
        [Branch("b", False, 1, ["its side may want it, but the link is down"])],
        "link closed",
    )


def test_a_dry_run_delivers_nothing():
    lab = line()
    hops, _ = traced(lab, attributes={"x": 6})
    assert hops["d"].delivered == ["subscription 1 of client of d: x > 5"]
    assert lab.payloads("d") == []


@SCHEMES
def test_a_hypothetical_subscriber_would_get_it(settings):
    hops, _ = traced(line(**settings), attributes={"x": 1}, predicate="x = 1", at="c")
    assert list(hops) == ["a", "b", "c"]
    assert hops["a"].hypothetical == hops["c"].hypothetical == ["a subscriber at c: x = 1"]
    assert hops["a"].branches[0].why == ["hypothetical subscriber at c"]
    assert hops["b"].hypothetical == []


def test_a_hypothetical_subscriber_would_not_get_it():
    hops, _ = traced(line(), attributes={"x": 1}, predicate="x = 2 or y = 1 and z = 1", at="c")
    assert list(hops) == ["a"]
    assert hops["a"].hypothetical == ["a subscriber at c: x = 2: x = 2 fails: x is 1"]


def test_a_router_that_is_not_there_is_named():
    hops, _ = traced(line(), attributes={"x": 1}, predicate="x = 1", at="q")
    assert hops["a"].hypothetical == ["router 'q' is not reachable"]


def test_nearest_misses_of_local_subscriptions_are_reported():
    lab = line()
    lab.clients["a"].subscribe(1, "x = 1 and y = 2 and z = 3")
    lab.clients["a"].subscribe(2, "x = 1 and y = 2 or x = 9 and y = 9 and z = 9")
    lab.run(1)
    hops, _ = traced(lab, attributes={"x": 1, "y": 1})
    assert hops["a"].missed == ["subscription 2 of client of a: x = 1 and y = 2: y = 2 fails: y is 1"]


def test_many_matches_are_counted_and_few_are_shown():
    lab = line()
    for id in range(10):
        lab.clients["a"].subscribe(id, "x = 1")
    lab.run(1)
    hops, _ = traced(lab, attributes={"x": 1})
    assert len(hops["a"].delivered) == 4
    assert hops["a"].delivered[-1] == "… and 7 more"


def test_router_without_a_report_is_missing_after_the_timeout():
    lab = line()
    lab.memory.cut("c", "d", noticed_by=[])
    lab.clients["a"].trace(7, {"x": 6})
    lab.run(1)
    assert lab.answers("a", TraceEnd) == []
    lab.run(1.5)
    assert lab.answers("a", TraceEnd) == [TraceEnd(7, ["d"])]
    assert [answer.hop.router for answer in lab.answers("a", TracedFrame)] == ["a", "b", "c"]


def test_trace_of_a_dropped_packet_has_the_reason():
    alone = Alone("a")
    alone.leaf(1, "b", wants=["x = 2"])
    packet = traced_packet(alone, TraceMark(3, True))
    (report,) = sent(alone.say(1, packet), TraceReport)
    assert (report.to, report.number, report.hop.dropped) == ("b", 3, "")
    (report,) = sent(alone.say(1, packet), TraceReport)
    assert (report.hop.dropped, report.hop.branches) == ("duplicate", [Branch("b", False, 1, [CAME_FROM_THERE])])


def test_there_may_be_so_many_traces_at_once_and_they_go_with_their_client():
    alone = Alone("a")
    alone.client_link(1)
    alone.leaf(2, "b", wants=["x = 1"])  # it gets the message and never reports
    done = [action for _ in range(65) for action in alone.say(1, trace())]
    assert len(sent(done, RefusedFrame)) == 1
    alone.close(1)
    alone.client_link(3)
    assert sent(alone.say(3, trace()), RefusedFrame) == []


@pytest.mark.parametrize("at", ["a", "nobody"])
def test_a_traced_packet_with_a_wrong_predicate_closes_the_link_and_is_not_passed_on(at):
    alone = Alone("a")
    alone.leaf(1, "b")
    alone.leaf(2, "c", wants=["x = 2"])
    done = alone.say(1, traced_packet(alone, TraceMark(3, True, "x <", at)))
    assert shut(done)[1].startswith("invalid predicate of a trace: ")
    assert sent(done, Packet) == sent(done, TraceReport) == []


def test_late_report_is_ignored():
    alone = Alone("a")
    alone.router_link(1, "b")
    hop = Hop(
        router="b",
        came_from="a",
        hops=1,
        dropped="",
        tree=0,
        root="a",
        branches=[],
        delivered=[],
        missed=[],
        hypothetical=[],
    )
    assert alone.say(1, TraceReport("a", 0, 77, hop)) == []


def test_search_for_nearest_misses_is_bounded(monkeypatch):
    monkeypatch.setattr(hops_module, "_MAX_EXPLAINED", 2)
    lab = line()
    for id in range(5):
        lab.clients["a"].subscribe(id, f"x = {id + 10}")
    lab.run(1)
    found, _ = traced(lab, attributes={"x": 1})
    assert len(found["a"].missed) == 2


def test_predicate_of_a_trace_has_the_limits_of_a_subscription():
    alone = Alone("a")
    alone.client_link(1)
    many = " or ".join(f"x{number} = 1" for number in range(1_001))
    asked = Trace(number=1, attributes={"x": 1}, tags=[], payload=b"", is_dry=True, predicate=many, at="a")
    (refused,) = sent(alone.say(1, asked), RefusedFrame)
    assert "1,001 is over the limit of 1,000" in refused.reason
