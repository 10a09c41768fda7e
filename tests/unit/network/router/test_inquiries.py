"""Inquiries about other routers: their status and subscriptions, through the router of the client."""

from support.memory_networks import Alone, Lab, sent

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


def test_inquiries_of_a_client_that_has_left_are_forgotten():
    new = Alone("a")
    new.client_link(1)
    new.leaf(2, "b", wants=["x = 1"])
    new.say(1, StatusRequest(7, "b"))
    new.close(1)
    assert sent(new.wait(3.0), RefusedFrame) == []


def test_a_long_predicate_is_shortened_and_says_so():
    new = Alone("a")
    new.client_link(1, "c")
    new.say(1, Subscribe(1, "x = 1", 0), Subscribe(2, " or ".join(f"x = {n}" for n in range(100)), 0))
    (listed,) = sent(new.say(1, SubscriptionRequest(7, "")), SubscriptionList)
    short, long = listed.subscriptions
    assert short == SubscriptionField("c", 1, "x = 1", True)
    assert (long.subscriber, long.id, long.is_whole) == ("c", 2, False)
    assert long.predicate.endswith(" …")
    assert listed.total == 2
