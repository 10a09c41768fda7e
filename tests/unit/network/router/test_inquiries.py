"""Inquiries about other routers: their status and subscriptions, through the router of the client."""

from support.memory_networks import Alone, Lab, sent

from cbnet.language.syntax.byte_form import filter_from_bytes
from cbnet.network.protocol.frames import (
    Inquiry,
    InquiryReport,
    RefusedFrame,
    Status,
    StatusRequest,
    Subscribe,
    SubscriptionField,
    SubscriptionList,
    SubscriptionRequest,
)
from cbnet.network.router import inquiries
from cbnet.network.router.status import router_status


def answers(lab, kind, *requests):
    """Send requests of the client at `a`; return the answers."""
    client = lab.clients["a"]
    for request in requests:
        client.send(request)
    lab.run(3.0)
    return lab.answers("a", kind)


def test_the_status_of_any_router_is_that_which_its_own_client_gets():
    lab = Lab("a-b b-c")
    lab.clients["c"].subscribe(1, "x > 2")
    lab.run(1.0)
    (far,) = answers(lab, Status, StatusRequest(7, "c"))
    assert (far.number, far.router, far.neighbours, far.reachable) == (7, "c", {"b": 1}, 3)
    assert (far.subscriptions, far.clients) == (1, 1)
    assert [(peer.name, peer.role) for peer in far.peers] == [("b", "router"), ("client of c", "client")]


def test_subscriptions_are_listed_with_their_clients():
    lab = Lab("a-b b-c")
    lab.clients["c"].subscribe(1, "x > 2 or y = 1")
    lab.run(1.0)
    own, far = answers(lab, SubscriptionList, SubscriptionRequest(7, "c"), SubscriptionRequest(8, ""))
    assert (own.number, own.router, own.subscriptions) == (8, "a", [])
    assert (far.number, far.router, far.total) == (7, "c", 1)
    assert far.subscriptions == [SubscriptionField("client of c", 1, "x > 2 or y = 1", True)]


def test_an_unknown_router_is_refused_at_once():
    new = Alone("a")
    new.client_link(1)
    (refused,) = sent(new.say(1, StatusRequest(7, "z")), RefusedFrame)
    assert (refused.frame, refused.number, refused.reason) == (25, 7, "router 'z' is not reachable")


def test_a_router_that_does_not_answer_is_refused_after_two_seconds_and_its_late_report_ignored():
    new = Alone("a")
    new.client_link(1)
    new.leaf(2, "b", wants=["x = 1"])
    (inquiry,) = sent(new.say(1, SubscriptionRequest(7, "b")), Inquiry, link=2)
    assert (inquiry.to, inquiry.source, inquiry.subject) == ("b", "a", "subscriptions")
    assert sent(new.wait(1.5), RefusedFrame) == []
    (refused,) = sent(new.wait(1.0), RefusedFrame)
    assert (refused.number, refused.reason) == (7, "router 'b' has not answered within 2 s")
    report = InquiryReport("a", 0, inquiry.number, SubscriptionList(0, "b", [], 0))
    assert sent(new.say(2, report), SubscriptionList) == []


def test_a_report_of_another_router_or_about_something_else_is_ignored():
    """After a restart the numbers begin anew, and reports of before may arrive."""
    new = Alone("a")
    new.client_link(1)
    new.leaf(2, "b", wants=["x = 1"])
    (inquiry,) = sent(new.say(1, SubscriptionRequest(7, "b")), Inquiry, link=2)
    status = router_status(Alone("b").router, Alone("b").router._core, 0)
    for report in (SubscriptionList(0, "c", [], 0), status):
        assert sent(new.say(2, InquiryReport("a", 0, inquiry.number, report)), link=1) == []
    report = InquiryReport("a", 0, inquiry.number, SubscriptionList(0, "b", [], 0))
    assert sent(new.say(2, report), link=1) == [SubscriptionList(7, "b", [], 0)]


def test_inquiries_of_a_client_that_has_left_are_forgotten():
    new = Alone("a")
    new.client_link(1)
    new.leaf(2, "b", wants=["x = 1"])
    new.say(1, StatusRequest(7, "b"))
    new.close(1)
    assert sent(new.wait(3.0), RefusedFrame) == []


def test_a_long_predicate_is_shortened_and_its_other_filters_are_not_decoded(monkeypatch):
    new = Alone("a")
    new.client_link(1, "c")
    new.say(1, Subscribe(1, "x = 1", 0), Subscribe(2, " or ".join(f"x = {n}" for n in range(10_000, 11_000)), 0))
    decoded = []
    monkeypatch.setattr(inquiries, "filter_from_bytes", lambda each: decoded.append(each) or filter_from_bytes(each))
    (listed,) = sent(new.say(1, SubscriptionRequest(7, "")), SubscriptionList)
    assert len(decoded) == 1 + 155  # 154 filters of 9 characters, and " or " between them, have 1,998
    short, long = listed.subscriptions
    assert short == SubscriptionField("c", 1, "x = 1", True)
    assert (long.subscriber, long.id, long.is_whole) == ("c", 2, False)
    assert (len(long.predicate), long.predicate[-2:]) == (2_000, " …")
    assert listed.total == 2
