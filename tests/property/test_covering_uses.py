"""What routers derive from covering, with conditions and several values: nothing covered is missed, nothing is lost."""

from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rich_language import members, rich_filters, rich_messages_near, rich_predicates, tags

from cbnet.language import Message, Predicate, covers, parse
from cbnet.network.security.rights import Denied, Rights, within
from cbnet.routing.interests import Interests
from cbnet.routing.multitree.folding import fold
from cbnet.routing.schemes.domains import SUMMARIES, summary

few_filters = st.lists(rich_filters, max_size=6)


def with_wider(filters):
    """Return filters and parts of them, so that some cover others."""
    wider = [filter & other for filter, other in pairwise(filters)]
    return [*filters, *wider]


@given(st.lists(few_filters.map(with_wider), min_size=1, max_size=3), st.data())
def test_a_disjunction_of_interests_drops_what_is_covered(filters, data):
    owned = {receiver: Predicate(each) for receiver, each in enumerate(filters)}
    interests = Interests(owned)
    union = interests.predicate(interests.disjunction(interests.of(receiver) for receiver in owned))
    assert not any(covers(wide, narrow) for wide, narrow in permutations(union.filters, 2))
    message = data.draw(rich_messages_near(*(filter for each in filters for filter in each)))
    assert union.matches(message) == any(predicate.matches(message) for predicate in owned.values())
    assert interests.interested(message) == {key for key, each in owned.items() if each.matches(message)}


@given(st.lists(rich_predicates, min_size=1, max_size=3), members(), tags)
def test_folded_tables_match_as_the_tables_do(predicates, attributes, chosen):
    tables = {f"tree {number}": {"a": predicate} for number, predicate in enumerate(predicates)}
    folded = fold(tables)["a"]
    for tree, table in tables.items():
        message = Message(attributes, chosen)
        assert folded.matches(Message(attributes, chosen | {tree})) == table["a"].matches(message)


@given(rich_predicates, st.data())
def test_summaries_cover(predicate, data):
    message = data.draw(rich_messages_near(*predicate.filters))
    for name in SUMMARIES:
        assert summary(name)(predicate).matches(message) or not predicate.matches(message)


@given(rich_predicates, rich_predicates, st.data())
def test_what_a_right_allows_to_subscribe_to_matches_the_right(right, predicate, data):
    allowed = Rights(subscribe=right)
    try:
        allowed.check_subscribe(predicate)
    except Denied:
        predicate = within(right, predicate)
        allowed.check_subscribe(predicate)
    message = data.draw(rich_messages_near(*right.filters, *predicate.filters))
    assert right.matches(message) or not predicate.matches(message)


@given(rich_predicates, st.data())
def test_each_value_of_a_published_message_matches_the_right(right, data):
    message = data.draw(rich_messages_near(*right.filters))
    try:
        Rights(publish=right).check_publish(message)
    except Denied:
        return
    assert right.matches(message)
    for name, leaves in message.leaves.items():
        for leaf in leaves:
            chosen = {other: found[0].value for other, found in message.leaves.items()} | {name: leaf.value}
            assert right.matches(Message(chosen, message.tags))


def test_a_right_is_not_circumvented_by_a_second_value():
    right = Rights(publish=parse('sensor = "a" or absent sensor and #test'))
    right.check_publish(Message({"sensor": "a", "x": [1, 2]}, ["test"]))
    right.check_publish(Message({"x": [1, 2]}, ["test"]))
    with pytest.raises(Denied, match='sensor = "b" does not match it'):
        right.check_publish(Message({"sensor": ["a", "b"]}, ["test"]))
