"""What clients may do is decided by predicates, and who is denied something is told what is missing."""

import pytest
from support.memory_networks import Alone, sent, shut

from cbnet import InputError, Message, covers, parse
from cbnet.network.forwarding.forwarding_table import predicate_of
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.frames import (
    Deliver,
    Hello,
    Publish,
    Published,
    PullFrame,
    RefusedFrame,
    Status,
    StatusRequest,
    Subscribe,
    Subscribed,
    SubscriptionList,
    SubscriptionRequest,
    Trace,
    TraceEnd,
    Unsubscribe,
)
from cbnet.network.protocol.request_codec import as_request, request_to_bytes
from cbnet.network.pull import requesters
from cbnet.network.router.router import Router
from cbnet.network.security.access import Access, Account
from cbnet.network.security.rights import ALL_RIGHTS, Denied, Rights, read_rights, text_length, within
from cbnet.network.security.tokens import new_token

EU = parse('region = "EU"')


def denial(check, *given):
    with pytest.raises(Denied) as raised:
        check(*given)
    return raised.value.summary


def alone(**rights):
    new = Alone("a")
    new.client_link(1)
    new.client_link(2)
    new.router.links.get(1).rights = Rights(**rights)
    return new


# --- predicates


def test_denial_of_a_predicate_suggests_a_correction():
    told = denial(Rights(subscribe=EU).check_subscribe, parse("price > 10"))
    assert told.startswith(
        'you may only subscribe to `region = "EU"`: `price > 10` also matches other messages, such as price'
    )
    assert told.endswith('; write `region = "EU" and price > 10`')
    Rights(subscribe=EU).check_subscribe(parse('region = "EU" and price > 10'))


@pytest.mark.parametrize(
    ("right", "predicate", "hint"),
    [
        ('region = "EU"', 'region = "EU" or #a', 'write `region = "EU" or region = "EU" and #a`'),
        ('region = "EU" and x > 5', "x > 7", 'write `region = "EU" and x > 7`'),
        ("#a and #b", "#a", "write `#a and #b`"),
        ("x = 1 or y = 1", "z = 1", "write `x = 1 and z = 1 or y = 1 and z = 1`"),
        ('region = "EU"', 'region = "US"', "no values match both"),
        ('region = "EU"', "true", 'write `region = "EU"`'),
    ],
)
def test_the_hint_is_the_predicate_within_the_right(right, predicate, hint):
    assert denial(Rights(subscribe=parse(right)).check_subscribe, parse(predicate)).endswith(hint)


def test_unproved_predicate_is_denied():
    told = denial(Rights(subscribe=parse("x < 5 or x >= 5")).check_subscribe, parse("x != 9"))
    assert "`x != 9` is not proved to stay within it" in told


def test_a_large_predicate_is_denied_without_more_words():
    wide = " or ".join(f"x{n} = 1" for n in range(200))
    assert "this predicate is not proved to stay" in denial(Rights(offer=EU).check_offer, parse(wide))


def test_nothing_is_allowed_where_nothing_is_named():
    nothing = read_rights({}, "[clients.a]")
    assert denial(nothing.check_subscribe, parse("x = 1")) == "you may not subscribe to anything"
    assert denial(nothing.check_offer, parse("x = 1")) == "you may not offer anything"
    assert denial(nothing.check_publish, Message({})) == "you may not publish anything"
    assert denial(nothing.check_request, Message({})) == "you may not request anything"
    assert "observe" in denial(nothing.check_watch)
    nothing.check_subscribe(parse("false"))  # it matches nothing


def test_all_rights_allow_everything():
    ALL_RIGHTS.check_subscribe(parse("true"))
    ALL_RIGHTS.check_publish(Message({}))
    ALL_RIGHTS.check_watch()


def test_within_is_covered_by_the_right():
    right, predicate = parse('region = "EU" and x > 3 or #all'), parse('x > 1 or y = 2 or region = "EU" and x = 9')
    both = within(right, predicate)
    assert covers(right, both)
    assert covers(predicate, both)


# --- messages


def test_message_beyond_the_rights_is_denied_with_the_failing_part():
    rights = Rights(publish=parse('region = "EU" and #public or region = "UK" and #public and kind = 1'))
    rights.check_publish(Message({"region": "EU"}, ["public"]))
    assert denial(rights.check_publish, Message({"region": "EU"})).endswith(": this message does not match `#public`")
    assert denial(rights.check_publish, Message({}, ["public"])).endswith('this message does not match `region = "EU"`')


# --- how much


def test_the_items_that_a_right_tests_are_bounded():
    rights = Rights(publish=parse("all p (@ >= 0 and @ < 9_000 and @ != 7)".replace("_", "")))
    publish = lambda values: rights.check_publish(Content(Publish(1, {"p": values}, [], b"", False)))  # noqa: E731
    publish([*range(100, 3_400)])
    with pytest.raises(Denied, match="this message does not match"):
        publish([*range(10)])
    with pytest.raises(Denied, match="too many values to decide"):
        publish([*range(100, 4_000)])


def test_the_text_of_a_message_is_its_names_texts_and_tags():
    message = Message({"ab": "cde", "f": 12345, "g": True}, ["hi", "j"])
    assert text_length(message) == len("ab" + "cde" + "f" + "g" + "hi" + "j")
    Rights(text=10).check_publish(message)
    told = denial(Rights(text=9).check_publish, message)
    assert told.startswith("a message with 10 characters of text; your limit is 9; put")
    assert "your limit is 9" in denial(Rights(text=9).check_request, message)


def test_constraints_of_a_client_are_limited_over_all_subscriptions():
    new = alone(constraints=4)
    new.say(1, Subscribe(1, "x = 1 and y = 1 and #a", 0))
    (refused,) = sent(new.say(1, Subscribe(2, "x = 1 or true", 0)))
    assert refused.reason.startswith("too many constraints in all your subscriptions: 5; your limit is 4; ask")
    assert sent(new.say(1, Subscribe(1, "x = 1 or y = 1 or true or #a", 0)), Subscribed)  # in the place of the first
    assert sent(new.say(1, Subscribe(2, "x = 1", 0)), RefusedFrame)
    new.say(1, Unsubscribe(1))
    assert sent(new.say(1, Subscribe(2, "x = 1 and x = 2 and x = 3 and x = 4", 0)), Subscribed)
    assert sent(new.say(2, Subscribe(1, "a = 1 and b = 1 and c = 1 and d = 1 and e = 1", 0)), Subscribed)  # another
    assert new.router.counters["denied.subscribe"] == 2


def test_repeated_tags_of_a_frame_count_each_time():
    new = alone(text=10)
    assert sent(new.say(1, Publish(1, {}, ["abcde"] * 2, b"", True)), Published)
    (refused,) = sent(new.say(1, Publish(2, {}, ["abcde"] * 3, b"", True)), RefusedFrame)
    assert refused.reason.startswith("a message with 15 characters of text; your limit is 10")


# --- from a file


def test_the_open_requests_of_a_client_are_those_of_all_its_links(monkeypatch):
    monkeypatch.setattr(requesters, "MAX_CLIENT_REQUESTS", 3)
    made = {name: new_token(name) for name in ("ticker", "card")}
    rights = read_rights({"request": "true"}, "t")
    router = Router(Settings("a"), 7, Access({name: Account(rights, token.hash) for name, token in made.items()}))
    for link, name in ((1, "ticker"), (2, "ticker"), (3, "card")):
        router.opened(link, 0.0)
        greeting = Hello(
            low=4,
            high=4,
            role="client",
            name="any",
            network="cbnet",
            incarnation=0,
            link=0,
            scheme="",
            token=made[name].token,
        )
        router.received(link, greeting, 0.0)
    item = request_to_bytes(as_request("#a"))
    monkeypatch.setattr(router.pulls, "_visit", lambda _: None)  # they stay open
    for link in (1, 2, 2):
        assert not sent(router.received(link, PullFrame(link, item, 5.0, 1, False, False), 0.0), RefusedFrame)
    (refused,) = sent(router.received(1, PullFrame(9, item, 5.0, 1, False, False), 0.0), RefusedFrame)
    assert "open requests of a client" in refused.reason
    assert not sent(router.received(3, PullFrame(1, item, 5.0, 1, False, False), 0.0), RefusedFrame)


def test_the_constraints_of_a_client_are_those_of_all_its_links():
    made = new_token("ticker")
    access = Access(
        {"ticker": Account(read_rights({"subscribe": "true", "constraints": 3, "links": 2}, "t"), made.hash)}
    )
    router = Router(Settings("a"), 7, access)
    hello = Hello(
        low=5, high=5, role="client", name="any", network="cbnet", incarnation=0, link=0, scheme="", token=made.token
    )
    for link in (1, 2):
        router.opened(link, 0.0)
        router.received(link, hello, 0.0)
    assert sent(router.received(1, Subscribe(1, "x = 1 and y = 1", 0), 0.0), RefusedFrame) == []
    assert sent(router.received(2, Subscribe(1, "x = 2", 0), 0.0), RefusedFrame) == []
    (refused,) = sent(router.received(2, Subscribe(2, "x = 3", 0), 0.0), RefusedFrame)
    assert refused.reason.startswith("too many constraints in all your subscriptions: 4; your limit is 3")
    assert sent(router.received(2, Subscribe(1, "x = 4", 0), 0.0), RefusedFrame) == []  # in the place of another

    # a third link is refused; when one goes, there is room again
    router.opened(3, 0.0)
    done = router.received(3, hello, 0.0)
    assert (
        sent(done, RefusedFrame)[0].reason
        == "too many links at once; your limit is 2; ask the operator to raise `links`"
    )
    assert list(shut(done)) == [3]
    assert router.counters["denied.client"] == 1
    router.closed(1, 0.0)
    router.opened(4, 0.0)
    assert shut(router.received(4, hello, 0.0)) == {}
    assert sent(router.received(4, Subscribe(1, "x = 1 and y = 1", 0), 0.0), RefusedFrame) == []


def test_rights_are_read_from_a_table_which_gives_no_others():
    said = {"publish": 'region = "EU"', "subscribe": "true", "request": "#a", "watch": True, "constraints": 7}
    assert read_rights(said, "[clients.a]") == Rights(
        EU, parse("true"), parse("false"), parse("#a"), watch=True, manage=False, constraints=7, text=4_096, links=16,
        durable=True, durable_subscriptions=256, durable_messages=1_000_000, durable_bytes=1 << 30,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"publsh": "true"}, "unknown key 'publsh' in [clients.a]; did you mean 'publish'?"),
        ({"publish": 5}, "publish in [clients.a] must be a predicate, not 5"),
        ({"publish": "x <"}, "publish in [clients.a]: 1:4: a value is missing"),
        ({"watch": "yes"}, "watch in [clients.a] must be true or false"),
        ({"watch": 1}, "watch in [clients.a] must be true or false"),
        ({"text": -1}, "text in [clients.a] must be a whole number, not -1"),
        ({"constraints": True}, "constraints in [clients.a] must be a whole number"),
        ({"subscribe": " or ".join(f"x = {n}" for n in range(17))}, "17 is over the limit of 16"),
    ],
)
def test_invalid_rights_are_reported(said, problem):
    with pytest.raises(InputError) as raised:
        read_rights(said, "[clients.a]")
    assert problem in str(raised.value)


# --- at a router


def test_a_router_delivers_only_what_the_rights_allow():
    new = alone(subscribe=EU)
    (refused,) = sent(new.say(1, Subscribe(7, "price > 10", 0)))
    assert isinstance(refused, RefusedFrame)
    assert refused.reason.endswith('write `region = "EU" and price > 10`')
    assert sent(new.say(1, Subscribe(7, 'region = "EU" and price > 10', 0)), Subscribed)
    done = new.say(
        2, Publish(1, {"price": 11}, [], b"", True), Publish(2, {"price": 11, "region": "EU"}, [], b"", True)
    )
    assert [frame.attributes for frame in sent(done, Deliver)] == [{"price": 11, "region": "EU"}]
    assert new.router.counters["denied.subscribe"] == 1


def test_a_denied_change_leaves_the_subscription_as_it_was():
    new = alone(subscribe=EU)
    new.say(1, Subscribe(7, 'region = "EU"', 0), Subscribe(7, "true", 0))
    assert [str(predicate_of(filters)) for _, _, filters in new.router.fib.local()] == ['region = "EU"']


def test_denied_message_is_dropped_and_refused_even_without_acknowledgement():
    new = alone(publish=EU)
    new.say(2, Subscribe(1, "true", 0))
    done = new.say(1, Publish(5, {"region": "US"}, [], b"", False))
    assert sent(done, Deliver) == []
    assert sent(done, RefusedFrame, 1)[0].reason.endswith('this message does not match `region = "EU"`')
    assert sent(new.say(1, Publish(6, {"region": "EU"}, [], b"", True)), Published) == [Published(6)]
    assert new.router.counters["denied.publish"] == 1


def test_denials_are_logged_but_not_all_of_very_many(caplog):
    new = alone(publish=EU)
    for number in range(101):
        new.say(1, Publish(number, {}, [], b"", False))
    told = [(record.getMessage(), record.members["client"], record.members["operation"]) for record in caplog.records]
    assert told == [("not allowed", "c", "publish")] * 3  # the first, the tenth, the hundredth
    assert new.router.counters["denied.publish"] == 101


def test_a_trace_needs_the_right_to_watch_and_to_publish():
    trace = Trace(number=1, attributes={"region": "US"}, tags=[], payload=b"", is_dry=True, predicate="", at="")
    assert "you may not observe the network" in sent(alone(watch=False).say(1, trace))[0].reason
    assert 'does not match `region = "EU"`' in sent(alone(publish=EU).say(1, trace))[0].reason
    assert sent(alone(publish=parse("true")).say(1, trace), TraceEnd)


def test_status_without_the_right_to_watch_hides_other_peers():
    asked = (Publish(1, {}, [], b"", False), StatusRequest(1))
    (seen,) = sent(alone().say(1, *asked), Status)
    assert (len(seen.peers), seen.counters["published"]) == (2, 1)
    (hidden,) = sent(alone(watch=False).say(1, *asked), Status)
    assert (hidden.peers, hidden.counters, hidden.router) == ([], {}, "a")


def test_other_routers_and_subscriptions_are_shown_only_with_the_right_to_watch():
    for asked in (StatusRequest(1, "b"), SubscriptionRequest(1, ""), SubscriptionRequest(1, "b")):
        assert "you may not observe the network" in sent(alone(watch=False).say(1, asked))[0].reason
    assert "not reachable" in sent(alone().say(1, StatusRequest(1, "b")))[0].reason
    assert sent(alone().say(1, SubscriptionRequest(1, "")), SubscriptionList)


# --- several values


def test_each_of_several_values_must_match_the_right_to_publish():
    right = Rights(publish=EU)
    right.check_publish(Message({"region": ["EU", "EU"], "n": [1, 2]}))
    told = denial(right.check_publish, Message({"region": ["EU", "US"]}))
    assert told == 'you may only publish `region = "EU"`: region = "US" does not match it'
    nested = Rights(publish=parse('from.region = "EU" and n < 5'))
    nested.check_publish(Message({"from": [{"region": "EU"}, {"region": "EU"}], "n": [1, 2]}))
    assert "from.region" in denial(
        nested.check_publish, Message({"from.region": "EU", "from": {"region": "US"}, "n": 1})
    )
    assert "too many values" in denial(
        nested.check_publish, Message({"from.region": "EU", "n": [n / 300 for n in range(300)]})
    )


def test_text_of_nested_members_counts():
    assert (
        text_length(Message({"ab": {"cd": ["efg", {"h": "ij"}, 5]}}, ["tag"])) == 25
    )  # ab.cd twice, ab.cd.h; efg, ij; tag


def test_correction_keeps_the_conditions():
    told = denial(Rights(subscribe=parse("a < b")).check_subscribe, parse("c * 2 > d"))
    assert told.endswith("write `a < b and c * 2 > d`")
    Rights(subscribe=parse("a < b")).check_subscribe(parse("a < b and c * 2 > d"))
