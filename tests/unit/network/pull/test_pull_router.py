"""Requests walk into the sides that offer, the smallest first; replies come back; caches answer on the way."""

import pytest
from support.memory_networks import Alone, Lab, encoded, hello, links_of, sent, shut

from cbnet import parse
from cbnet.network.protocol.fields import MAX_VISITED_ROUTERS
from cbnet.network.protocol.frames import (
    Answer,
    HolderRequest,
    ItemField,
    NoItem,
    Offered,
    OfferFrame,
    PullFailure,
    PullFrame,
    PullReply,
    RefusedFrame,
    ReplyFrame,
    Request,
    StepField,
    Withdraw,
    Withdrawn,
)
from cbnet.network.protocol.request_codec import as_request, request_to_bytes
from cbnet.network.protocol.wire import FrameReader, encode
from cbnet.network.pull import holders
from cbnet.network.security.rights import Rights

A = request_to_bytes(as_request('s = "A"'))


def has(*values, payload=b"", keep=None):
    """Return a handler that has items with these values of `s`."""

    def handler(request):
        value = request.attributes.get("s")
        return ItemField({"s": value, "more": 1}, sorted(request.tags), payload, keep) if value in values else None

    return handler


def with_two_holders(**settings):
    """Return a router with three clients, of which 1 and 2 offer items."""
    alone = Alone("a", **settings)
    for link in (1, 2, 3):
        alone.client_link(link, f"c{link}")
    for link in (1, 2):
        alone.say(link, OfferFrame(5, "exists s", 0))
    return alone


def pull(number):
    return PullFrame(number=number, request=A, timeout=5.0, max_holders=8, is_fresh=True, is_traced=False)


class Pulling(Lab):
    """A network in memory, with the number of clients that were asked."""

    def offer(self, name, predicate, handler, id=1):
        self.asked = getattr(self, "asked", [])

        def counted(request):
            self.asked.append(name)
            return handler(request)

        self.clients[name].offer(id, predicate, counted, wait=3.0)
        self.run(1)
        return self.answers(name, Offered)[-1]

    def request(self, name, text='s = "A"', seconds=2.0, **how):
        """Return the answer to a request."""
        self.clients[name].answers.clear()
        self.clients[name].request(7, text, is_traced=True, **how)
        self.run(seconds)
        (answer,) = [a for a in self.clients[name].answers if isinstance(a, PullReply | PullFailure)]
        assert answer.number == 7
        return answer

    def count(self, what):
        return sum(self.router(name).counters[what] for name in self.names)


CHAIN = "a-b b-c c-d d-e e-f"


def test_request_reaches_a_holder_five_hops_away_and_the_reply_returns():
    lab = Pulling(CHAIN)
    assert lab.offer("f", 's ^= "A" and #t', has("A", payload=b"item")) == Offered(1, True, 6, [])
    reply = lab.request("a", 's = "A" and #t')
    assert (reply.attributes, reply.tags, reply.payload) == ({"s": "A", "more": 1}, ["t"], b"item")
    assert (reply.holder, reply.cache, reply.age, reply.asked) == ("f", "", 0, 1)
    assert [step.router for step in reply.steps] == list("abcdef") + list("edcba")
    assert (lab.memory.frames["Request"], lab.memory.frames["ReplyFrame"]) == (5, 5)


def test_equal_request_is_answered_by_the_first_cache_on_its_path():
    lab = Pulling(CHAIN + " c-x")
    lab.offer("f", "exists s", has("A", payload=b"item"))
    lab.request("a")
    again = lab.request("a")
    assert (again.cache, again.holder, again.payload, again.asked) == ("a", "f", b"item", 0)
    assert [step.router for step in again.steps] == ["a"]
    other = lab.request("x", 's = "A"')
    assert (other.cache, [step.router for step in other.steps]) == ("c", ["x", "c", "x"])
    assert 0 < other.age < 10_000
    assert lab.asked == ["f"]
    assert lab.router("x").pulls.cache.get(A).age >= other.age  # it is kept there too, and is as old as it is


def test_fresh_request_bypasses_caches_and_updates_them():
    lab = Pulling("a-b b-c")
    lab.offer("c", "exists s", has("A", payload=b"old"))
    lab.request("a")
    lab.offer("c", "exists s", has("A", payload=b"new"))
    assert lab.request("a").payload == b"old"
    assert lab.request("a", is_fresh=True).payload == b"new"
    assert lab.request("a").payload == b"new"


def test_cache_answers_for_a_lost_holder_until_the_reply_expires():
    lab = Pulling("a-b b-c", cache_age=5.0)
    lab.offer("c", "exists s", has("A", payload=b"item"))
    lab.request("a")
    lab.memory.kill("c")
    lab.run(1)
    assert lab.request("a").payload == b"item"
    assert lab.request("a", is_fresh=True) == PullFailure(7, False, 0, 0, [StepField("a", "no router offers it")])
    lab.run(3)
    assert lab.request("a") == PullFailure(7, False, 0, 0, [StepField("a", "no router offers it")])


def test_a_reply_that_must_not_be_kept_is_not():
    lab = Pulling("a-b b-c")
    lab.offer("c", "exists s", has("A", keep=0))
    assert [lab.request("a").cache for _ in range(3)] == ["", "", ""]
    assert [len(lab.router(name).pulls.cache) for name in "abc"] == [0, 0, 0]


def test_a_network_without_caches_asks_each_time():
    lab = Pulling("a-b b-c", cache_bytes=0)
    lab.offer("c", "exists s", has("A"))
    assert [lab.request("a").cache for _ in range(2)] == ["", ""]
    assert lab.count("cache_misses") == 0


def test_smallest_side_that_offers_is_visited_first_with_ties_by_name_whatever_its_distance():
    lab = Pulling("a-b b-x a-c:5 a-d:9", cache_bytes=0)  # behind b are two routers, behind c and d one each
    lab.offer("b", "exists s", has("A"))
    assert lab.request("a").holder == "b"
    lab.offer("d", "exists s", has("A"))
    assert lab.request("a").holder == "d"
    lab.offer("c", "exists s", has("A"))
    assert lab.request("a").holder == "c"
    lab.offer("a", "exists s", has("A"))
    assert lab.request("a").holder == "a"


def test_request_returns_from_an_exhausted_side_and_goes_into_the_next():
    #  r ─ a ─ b ─ c      behind b: b, c, d; behind e: e and f; only the client of f has the item
    #      │   └ d
    #      e ─ f
    lab = Pulling("r-a a-b b-c b-d a-e e-f a-x a-y", cache_bytes=0, roots=("a",))
    for name in "xcdf":
        lab.offer(name, "exists s", has("A") if name == "f" else has())
    reply = lab.request("r")
    assert (reply.holder, reply.asked, lab.asked) == ("f", 2, ["x", "f"])
    walked = [(step.router, step.what) for step in reply.steps if not step.what.startswith("client")][:7]
    assert walked == [
        ("r", "sent toward a, whose side offers it"),
        ("a", "sent toward x, whose side offers it"),
        ("x", "returned to a: no other side offers it"),
        ("a", "sent toward e, whose side offers it"),
        ("e", "sent toward f, whose side offers it"),
        ("e", "reply received"),
        ("a", "reply received"),
    ]


def test_request_that_nobody_has_visits_each_offering_router_once_and_comes_back():
    lab = Pulling("r-a a-b b-c b-d a-e e-f", cache_bytes=0, roots=("a",))
    for name in "cdf":
        lab.offer(name, "exists s", has())
    answer = lab.request("r")
    assert (answer.is_late, answer.tried, answer.asked, sorted(lab.asked)) == (False, 3, 3, ["c", "d", "f"])
    assert (answer.steps[-1].router, answer.steps[-1].what) == ("r", "no other router offers it")
    assert lab.memory.frames["Request"] == 12  # each of the links r-a, a-b, b-c, b-d, a-e, e-f both ways


@pytest.mark.parametrize("settings", [{"trees": 3}, {"scheme": "pif"}])
def test_all_holders_are_found_on_any_tree(settings):
    lab = Pulling("a-b b-c c-d d-e e-a b-e c-f", cache_bytes=0, **settings)
    for name in "bdf":
        lab.offer(name, "exists s", has())
    for name in "ace":
        answer = lab.request(name)
        assert (answer.is_late, answer.tried, answer.asked) == (False, 3, 3)


def test_a_holder_without_the_item_is_followed_by_those_behind_it():
    lab = Pulling(CHAIN, cache_bytes=0)
    lab.offer("c", "exists s", has("B"))
    lab.offer("d", "exists s", has("B"))
    lab.offer("f", "exists s", has("A"))
    reply = lab.request("a")
    assert (reply.holder, reply.asked, lab.asked) == ("f", 3, ["c", "d", "f"])
    asked = [step.what.partition(": ")[2] for step in reply.steps if "was asked" in step.what]
    assert asked == ["it lacks the item", "it lacks the item", "it has the item"]


def test_at_most_max_holders_are_asked():
    lab = Pulling(CHAIN, cache_bytes=0)
    for name in "bcdef":
        lab.offer(name, "exists s", has("A") if name == "f" else has())
    answer = lab.request("a", max_holders=3)
    assert (answer.is_late, answer.tried, answer.asked, lab.asked) == (False, 3, 3, ["b", "c", "d"])
    assert answer.steps[-1].what == "the maximum number of holders were asked"
    assert lab.request("a", max_holders=5).holder == "f"


def test_no_holder_has_it():
    lab = Pulling("a-b b-c")
    lab.offer("b", "exists s", has())
    lab.offer("c", "exists s", has())
    answer = lab.request("a")
    assert (answer.is_late, answer.tried, answer.asked) == (False, 2, 2)


def test_only_matching_offers_are_asked():
    lab = Pulling("a-b b-c")
    lab.clients["b"].subscribe(1, "exists s")
    lab.offer("c", 's = "B"', has("A", "B"))
    assert lab.request("a").tried == 0
    assert lab.request("a", 's = "B"').holder == "c"
    assert lab.clients["b"].deliveries == []


def test_notifications_go_to_subscriptions_never_to_offers_and_no_cache_stops_them():
    lab = Pulling("a-b b-c")
    lab.offer("c", "exists s", has("A"))
    lab.clients["c"].subscribe(1, 's = "A"')
    lab.request("a")
    for number in range(3):
        lab.clients["a"].publish({"s": "A"}, str(number).encode())
    lab.run(1)
    assert lab.payloads("c") == [b"0", b"1", b"2"]
    assert lab.asked == ["c"]


def test_withdrawn_offer_is_not_asked_and_its_id_is_free():
    lab = Pulling("a-b b-c", cache_bytes=0)
    lab.offer("c", "exists s", has("A"))
    lab.clients["c"].withdraw(1)
    assert lab.request("a").asked == 0  # not all know of it yet
    assert lab.request("a").tried == 0
    lab.offer("c", 's = "A"', has("A"))
    assert lab.request("a").holder == "c"


def test_second_holder_is_asked_if_the_first_lacks_the_item_or_disconnects():
    alone = with_two_holders()
    (asked,) = sent(
        alone.say(3, pull(9)),
        HolderRequest,
        link=1,
    )
    assert (asked.offer, asked.request) == (5, A)
    done = alone.say(1, Answer(asked.number, None))
    (asked,) = sent(done, HolderRequest, link=2)
    assert sent(alone.close(2), PullFailure, link=3) == [PullFailure(9, False, 1, 2, None)]
    assert len(alone.router.pulls.holders) == len(alone.router.pulls.requesters) == 0


def test_holder_with_the_fewest_open_requests_is_asked():
    alone = with_two_holders()
    asked = [
        links_of(
            alone.say(3, pull(n)),
            HolderRequest,
        )
        for n in range(4)
    ]
    assert asked == [[1], [2], [1], [2]]


def test_a_client_that_does_not_answer_in_time_is_followed_by_the_next_and_its_late_answer_dropped():
    alone = with_two_holders(answer=1.0)
    (first,) = sent(
        alone.say(3, pull(9)),
        HolderRequest,
        link=1,
    )
    assert sent(alone.wait(0.9), HolderRequest) == []
    (second,) = sent(alone.wait(0.2), HolderRequest, link=2)
    assert sent(alone.say(1, Answer(first.number, ItemField({"s": "A"}, [], b"late", None))), PullReply) == []
    assert alone.router.counters["dropped.unexpected_answer"] == 1
    replied = sent(alone.say(2, Answer(second.number, ItemField({"s": "A"}, [], b"good", None))), PullReply, link=3)
    assert [(each.payload, each.asked) for each in replied] == [(b"good", 2)]


def test_a_request_ends_when_its_time_is_up():
    alone = Alone("a")
    alone.client_link(1)
    alone.client_link(2)
    alone.say(1, OfferFrame(5, "exists s", 0))
    alone.say(2, PullFrame(number=9, request=A, timeout=0.5, max_holders=8, is_fresh=True, is_traced=True))
    assert sent(alone.wait(0.4), PullFailure) == []
    assert sent(alone.wait(0.2), PullFailure, link=2) == [PullFailure(9, True, 0, 0, [])]
    assert len(alone.router.pulls.holders) == len(alone.router.pulls.requesters) == 0


def test_lost_traced_request_reports_its_first_steps():
    lab = Pulling("a-b b-c")
    lab.offer("c", "exists s", has("A"))
    lab.memory.cut("b", "c", noticed_by=[])
    answer = lab.request("a", timeout=1.0)
    assert answer == PullFailure(7, True, 0, 0, [StepField("a", "sent toward b, whose side offers it")])


def test_mismatched_reply_is_dropped_and_the_next_holder_asked():
    lab = Pulling("a-b b-c", cache_bytes=0)
    lab.offer("b", "exists s", lambda _: ItemField({"s": "B"}, [], b"forged", None))
    lab.offer("c", "exists s", has("A", payload=b"good"))
    assert lab.request("a").payload == b"good"
    assert lab.router("b").counters["dropped.reply_mismatch"] == 1
    assert lab.memory.frames["ReplyFrame"] == 2


def test_client_cannot_answer_the_request_of_another():
    alone = Alone("a")
    for link in (1, 2, 3):
        alone.client_link(link, f"c{link}")
    alone.say(1, OfferFrame(5, "exists s", 0))
    (asked,) = sent(
        alone.say(3, pull(9)),
        HolderRequest,
        link=1,
    )
    assert alone.say(2, Answer(asked.number, ItemField({"s": "A"}, [], b"forged", None))) == []
    assert alone.router.counters["dropped.unexpected_answer"] == 1
    assert sent(alone.say(1, Answer(asked.number, ItemField({"s": "A"}, [], b"", None))), PullReply, link=3) != []


# --- one router between two neighbours


def between(**settings):
    """Return a router with the neighbours b, which offers, and c, and with a client at 3."""
    alone = Alone("a", **settings)
    alone.leaf(1, "b", offers=["exists s"])
    alone.leaf(2, "c", offers=["false_name = 1"])
    alone.client_link(3)
    alone.wait(0.2)
    return alone


def request(**changes):
    said = {"source": "c", "incarnation": 1, "number": 4, "request": A, "tree": 0, "visited": ["c"], "path": ["c"]}
    more = {"tried": 0, "asked": 0, "max_holders": 8, "timeout": 5_000, "is_fresh": False, "steps": None}
    return Request(**{**said, **more, **changes})


def greeted_reader():
    reader = FrameReader()
    list(reader.feed(encode(hello("router", "a"))))
    return reader


def no_item(**changes):
    return NoItem(
        **{"to": "c", "hops": 1, "incarnation": 1, "number": 4, "tried": 0, "asked": 0, "steps": None, **changes}
    )


def reply(**changes):
    said = {"to": "c", "hops": 1, "incarnation": 1, "number": 4, "request": A, "attributes": {"s": "A"}, "tags": []}
    more = {"payload": b"p", "holder": "b", "cache": "", "age": 0, "keep": None, "asked": 1, "steps": None}
    return ReplyFrame(**{**said, **more, **changes})


def test_router_on_the_path_keeps_no_state_of_a_request():
    alone = between()
    assert sent(alone.say(2, request()), Request, link=1) == [request(visited=["c", "a"], path=["c", "a"])]
    assert len(alone.router.pulls.holders) == len(alone.router.pulls.requesters) == 0
    assert sent(alone.say(1, reply()), ReplyFrame, link=2) == [reply(hops=2)]


def test_request_that_comes_back_goes_back_to_the_router_before():
    alone = between()
    back = request(visited=["c", "a", "b"], path=["c"], tried=1, asked=1)
    assert sent(alone.say(1, back), Request, link=2) == [request(visited=["c", "a", "b"], path=[], tried=1, asked=1)]


def test_request_goes_back_to_the_last_router_that_is_still_a_neighbour_and_ends_if_there_is_none():
    alone = between()
    back = request(visited=["x", "c", "y", "a", "b"], path=["x", "c", "y"], steps=[])
    (sent_back,) = sent(alone.say(1, back), Request, link=2)
    assert (sent_back.path, sent_back.steps) == (["x"], [StepField("a", "returned to c: no other side offers it")])
    lost = request(visited=["c", "y", "a", "b"], path=["y"], steps=[])
    steps = [StepField("a", "no other side offers it, and the way back is gone")]
    assert sent(alone.say(1, lost), NoItem, link=2) == [no_item(steps=steps)]


def test_request_does_not_need_the_session_of_the_tree():
    alone = between()
    alone.router_link(4, "b", peer_link=2)
    alone.close(1)
    assert len(sent(alone.say(2, request()), Request, link=4)) == 1


def test_side_of_which_nothing_is_known_is_visited():
    alone = Alone("a")
    alone.leaf(1, "b")
    alone.leaf(2, "c", offers=["x = 1"])
    (forward,) = sent(alone.say(2, request(steps=[])), Request, link=1)
    assert forward.steps == [StepField("a", "sent toward b, whose side may offer it")]


def test_request_ends_at_the_maximum_of_visited_routers():
    alone = between()
    many = [f"r{number}" for number in range(MAX_VISITED_ROUTERS)]
    reason = f"{MAX_VISITED_ROUTERS} routers were visited, which is the maximum"
    for limits in ({"visited": many[1:]}, {"visited": many}, {"path": many}):
        done = alone.say(2, request(steps=[], **limits))
        assert sent(done, Request) == []
        assert sent(done, NoItem, link=2) == [no_item(steps=[StepField("a", reason)])]


def test_counts_of_a_hostile_neighbour_do_not_close_the_link_of_another():
    alone = between()
    alone.say(3, OfferFrame(5, "exists s", 0))
    done = alone.say(2, request(tried=2**63 - 1))
    (asked,) = sent(done, HolderRequest, link=3)
    (forward,) = sent(alone.say(3, Answer(asked.number, None)), Request, link=1)
    assert list(greeted_reader().feed(encode(forward))) == [forward]


def test_a_reply_between_routers_that_does_not_match_is_neither_passed_on_nor_kept():
    alone = between()
    assert alone.say(1, reply(attributes={"s": "B"})) == []
    assert len(alone.router.pulls.cache) == 0
    assert alone.router.counters["dropped.reply_mismatch"] == 1


@pytest.mark.parametrize(
    "changes", [{"incarnation": 99}, {"number": 99}, {"request": request_to_bytes(as_request('t = "A"'))}]
)
def test_unexpected_reply_is_dropped(changes):
    alone = between()
    (asked,) = sent(
        alone.say(3, pull(9)),
        Request,
        link=1,
    )
    good = {"to": "a", "incarnation": asked.incarnation, "number": asked.number, "attributes": {"s": "A", "t": "A"}}
    assert sent(alone.say(1, reply(**{**good, **changes})), PullReply) == []
    assert alone.router.counters["dropped.unexpected_reply"] == 1
    assert sent(alone.say(1, reply(**good)), PullReply, link=3) != []
    assert sent(alone.say(1, reply(**good)), PullReply) == []  # once


@pytest.mark.parametrize(
    "frame",
    [request(request=b"\xc1"), reply(request=b""), request(request=b"\x91\x93\xa1s\x02\xa1A"),
     reply(attributes={"s": "A", "#": 1})],
)  # fmt: skip
def test_invalid_request_or_reply_closes_its_link(frame):
    alone = between()
    assert set(shut(alone.say(2, frame))) == {2}


def test_circulating_reply_ends_at_the_hop_limit():
    alone = between()
    assert sent(alone.say(1, reply(hops=255))) == []
    assert alone.router.counters["dropped.too_many_hops"] == 1


# --- limits, and what a client gets wrong


def test_a_client_may_not_wait_for_too_many_replies_at_once():
    alone = between()
    for number in range(1_000):
        assert (
            sent(
                alone.say(
                    3, PullFrame(number=number, request=A, timeout=5.0, max_holders=8, is_fresh=True, is_traced=False)
                ),
                RefusedFrame,
            )
            == []
        )
    (refused,) = sent(
        alone.say(3, PullFrame(number=1_000, request=A, timeout=5.0, max_holders=8, is_fresh=True, is_traced=False)),
        RefusedFrame,
        link=3,
    )
    assert (refused.frame, refused.number, "1,000" in refused.reason) == (28, 1_000, True)
    alone.close(3)
    assert len(alone.router.pulls.requesters) == 0


def test_open_requests_to_one_holder_are_limited():
    alone = Alone("a")
    alone.client_link(1)
    alone.say(1, OfferFrame(5, "exists s", 0))
    for client in (2, 3):
        alone.client_link(client)
        for number in range(600):
            alone.say(
                client, PullFrame(number=number, request=A, timeout=5.0, max_holders=8, is_fresh=True, is_traced=False)
            )
    assert len(alone.router.pulls.holders) == 1_000
    assert alone.router.counters["requests_unanswered"] == 200


def test_open_requests_to_all_holders_are_limited(monkeypatch):
    monkeypatch.setattr(holders, "MAX_OPEN_REQUESTS", 3)
    alone = Alone("a")
    for link in (1, 2, 3):
        alone.client_link(link)
    for link in (1, 2):
        alone.say(link, OfferFrame(5, "exists s", 0))
    done = [
        alone.say(3, PullFrame(number=number, request=A, timeout=5.0, max_holders=8, is_fresh=True, is_traced=False))
        for number in range(4)
    ]
    assert [len(sent(each, HolderRequest)) for each in done] == [1, 1, 1, 0]
    assert sent(done[3], PullFailure, link=3) == [PullFailure(3, False, 1, 0, None)]


def test_invalid_offers_are_refused():
    alone = Alone("a")
    alone.client_link(1)
    assert [each.frame for each in sent(alone.say(1, OfferFrame(5, "s <", 0)), RefusedFrame)] == [26]
    assert [each.reason for each in sent(alone.say(1, Withdraw(5)), RefusedFrame)] == ["unknown offer 5"]
    assert sent(alone.say(1, OfferFrame(5, "exists s", 0)), Offered) == [Offered(5, False, 1, [])]
    assert sent(alone.say(1, Withdraw(5)), Withdrawn) == [Withdrawn(5)]


def test_rights_limit_offers_requests_and_traces():
    alone = between()
    rights = Rights(offer=parse('region = "EU"'), request=parse("exists s"), watch=False)
    alone.router.links.get(3).rights = rights
    assert [each.frame for each in sent(alone.say(3, OfferFrame(5, "price > 10", 0)), RefusedFrame)] == [26]
    assert sent(alone.say(3, OfferFrame(5, 'region = "EU" and price > 10', 0)), Offered) != []
    other = request_to_bytes(as_request('t = "A"'))
    assert [
        each.frame
        for each in sent(
            alone.say(
                3, PullFrame(number=1, request=other, timeout=5.0, max_holders=8, is_fresh=True, is_traced=False)
            ),
            RefusedFrame,
        )
    ] == [28]
    assert [
        each.frame
        for each in sent(
            alone.say(3, PullFrame(number=2, request=A, timeout=5.0, max_holders=8, is_fresh=True, is_traced=True)),
            RefusedFrame,
        )
    ] == [28]
    assert (
        len(
            sent(
                alone.say(
                    3, PullFrame(number=3, request=A, timeout=5.0, max_holders=8, is_fresh=True, is_traced=False)
                ),
                Request,
                link=1,
            )
        )
        == 1
    )
    assert alone.router.counters["denied.request"] == 2
    assert alone.router.counters["denied.offer"] == 1


# --- announcements of offers


def test_offers_and_predicates_stay_apart():
    lab = Pulling("a-b")
    lab.offer("a", "x > 1", has())
    lab.clients["a"].subscribe(1, "y > 1")
    lab.run(1)
    router = lab.router("b")
    stream = router.streams.from_side(router.version.trees[0].links["a"])
    announced = [kind.filters(stream) for kind in router.streams.kinds]
    assert [set(each) for each in announced] == [set(encoded("y > 1")), set(encoded("x > 1"))]


def test_offers_of_an_earlier_incarnation_are_forgotten():
    lab = Pulling("a-b b-c")
    lab.offer("c", "exists s", has("A"))
    lab.memory.kill("c")
    lab.clients["c"].offers.clear()
    lab.run(1)
    lab.memory.start("c")
    lab.run(3)
    assert lab.request("a").tried == 0


def test_an_offer_that_no_request_can_match_is_confirmed_too():
    lab = Pulling("a-b")
    assert lab.offer("a", "x < 0 and x > 0", has()) == Offered(1, True, 2, [])
