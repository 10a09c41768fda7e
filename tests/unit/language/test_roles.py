import pytest

from cbnet.errors import InputError
from cbnet.language import Descriptor, Message, parse, parse_filter
from cbnet.language.roles import MessageKind, Registration, answers, filter_of, request_of

NOTIFICATION, REQUEST, REPLY = MessageKind

OFFER = Descriptor(["video", "concert"])
ASKED = Message(tags=["video", "concert", "zurich"])


def test_descriptors_fit_together_by_inclusion():
    assert OFFER.matches(ASKED)  # R ⊇ O
    assert not OFFER.matches(Message(tags=["video"]))
    assert answers(Message(tags=["video", "concert", "zurich", "2013"]), ASKED)  # D ⊇ R
    assert not answers(Message(tags=["video", "concert"]), ASKED)
    assert Descriptor(["concert"]).matches(ASKED)  # N ⊇ S


def test_the_kind_of_a_message_decides_what_it_is_matched_with():
    node = Registration(subscriptions=parse("#news"), offers=parse("#video"))
    news, video = Message(tags=["news"]), Message(tags=["video"])
    assert node.matches(news, NOTIFICATION)
    assert not node.matches(news, REQUEST)
    assert node.matches(video, REQUEST)
    assert not node.matches(video, NOTIFICATION)
    assert not node.matches(news, REPLY)  # a reply is matched with its request, and goes to the requester


def test_a_request_is_a_message_and_a_filter():
    filter = parse_filter('city = "Lugano" and seats = 4 and #concert')
    request = request_of(filter)
    assert request == Message({"city": "Lugano", "seats": 4}, ["concert"])
    assert filter_of(request) == filter
    assert answers(Message({"city": "Lugano", "seats": 4.0, "price": 10}, ["concert", "jazz"]), request)
    assert not answers(Message({"city": "Lugano"}, ["concert"]), request)


@pytest.mark.parametrize("text", ["price < 5", "exists price", 'name ^= "a"', "x != 1 and #a"])
def test_a_request_holds_equality_constraints_and_tags_only(text):
    with pytest.raises(InputError, match=r"a request cannot contain .*; use `=` and tags only"):
        request_of(parse_filter(text))


def test_a_request_that_no_reply_can_match_is_refused():
    with pytest.raises(InputError, match="no reply can match"):
        request_of(parse_filter("x = 1 and x = 2"))
    assert request_of(parse_filter("x = 1 and x = 1.0")) == Message({"x": 1})
