"""Laws of rights: what a client may subscribe to never delivers what its right does not match."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from support.memory_networks import Alone, sent
from support.strategies import any_messages, messages_near, predicates

from cbnet.language import covers
from cbnet.network.protocol.frames import Deliver, Publish, RefusedFrame, Subscribe
from cbnet.network.security.rights import Denied, Rights, within


def publish(message):
    return Publish(1, dict(message.attributes), sorted(message.tags), b"", False)


@settings(max_examples=75)
@given(predicates(), st.lists(predicates(), min_size=1, max_size=4), st.data())
def test_nothing_is_delivered_that_the_right_does_not_match(right, wanted, data):
    alone = Alone("a")
    alone.client_link(1)
    alone.client_link(2)
    alone.router.links.get(1).rights = Rights(subscribe=right)
    for id, predicate in enumerate(wanted):
        alone.say(1, Subscribe(id % 2, str(predicate), 0))  # a later one takes the place of an earlier one
    filters = [filter for each in (right, *wanted) for filter in each.filters]
    for message in data.draw(st.lists(messages_near(*filters), min_size=1, max_size=10)):
        delivered = sent(alone.say(2, publish(message)), Deliver)
        assert not delivered or right.matches(message)


@given(predicates(), st.data())
def test_nothing_is_published_that_the_right_does_not_match(right, data):
    alone = Alone("a")
    alone.client_link(1)
    alone.client_link(2)
    alone.router.links.get(1).rights = Rights(publish=right)
    alone.say(2, Subscribe(1, "true", 0))
    message = data.draw(messages_near(*right.filters))
    done = alone.say(1, publish(message))
    assert bool(sent(done, Deliver)) == right.matches(message)
    assert bool(sent(done, RefusedFrame)) == (not right.matches(message))


def may_publish(rights, message):
    try:
        rights.check_publish(message)
    except Denied:
        return False
    return True


@given(st.none() | predicates(), st.none() | st.integers(0, 12), st.data())
def test_messages_in_frames_are_allowed_as_others_are(right, text, data):
    rights = Rights(publish=right, text=text)
    message = data.draw(messages_near(*(right.filters if right is not None else ())) | any_messages)
    fields = msgspec.msgpack.encode([dict(message.attributes), sorted(message.tags), b""])[1:]
    matcher = rights.publish_matcher()
    assert (matcher is None or matcher.allows_frame(fields)) == may_publish(rights, message)


@given(predicates(), predicates())
def test_what_is_written_instead_is_allowed_and_matches_nothing_else(right, predicate):
    try:
        Rights(subscribe=right).check_subscribe(predicate)
    except Denied:
        corrected = within(right, predicate)
        Rights(subscribe=right).check_subscribe(corrected)
        assert all(covers(predicate, filter) for filter in corrected.filters)


@given(predicates(), predicates(), st.data())
def test_what_is_written_instead_misses_nothing_that_is_allowed(right, predicate, data):
    message = data.draw(messages_near(*right.filters, *predicate.filters))
    assert within(right, predicate).matches(message) == (right.matches(message) and predicate.matches(message))
