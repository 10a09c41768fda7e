"""Laws of the five roles: what follows from the relations between them."""

from hypothesis import given
from hypothesis import strategies as st
from support.rich_language import nested_messages, unconditional_filters
from support.strategies import any_messages, close_names, close_values, messages_near, predicates

from cbnet.language import Message, Predicate
from cbnet.language.roles import answers, filter_of, request_of

offers = st.lists(unconditional_filters, max_size=3).map(Predicate)


@given(st.data(), offers, nested_messages)
def test_a_nested_reply_matches_every_offer_that_the_request_matches(data, offer, reply):
    bound = {name: data.draw(st.sampled_from(leaves)).value for name, leaves in reply.leaves.items()}
    request = Message(bound, reply.tags)
    if answers(reply, request):
        assert offer.matches(reply) or not offer.matches(request)


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
