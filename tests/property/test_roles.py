"""Laws of the five roles: what follows from the relations between them."""

from hypothesis import given
from hypothesis import strategies as st
from support.strategies import any_messages, close_names, close_values, messages_near, predicates

from cbnet.language import Message
from cbnet.language.roles import answers, filter_of, request_of


@given(any_messages)
def test_every_message_can_be_asked_for_and_answers_itself(message):
    assert request_of(filter_of(message)) == message
    assert answers(message, message)


@given(predicates(), st.data())
def test_a_reply_to_a_request_matches_every_offer_that_the_request_matches(offer, data):
    request = data.draw(messages_near(*offer.filters))
    more = data.draw(st.dictionaries(close_names, close_values))
    reply = Message({**more, **request.attributes}, request.tags | {"more"})
    assert answers(reply, request)
    assert offer.matches(reply) or not offer.matches(request)
