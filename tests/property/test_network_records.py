"""Laws of what is told: filters in bytes, and which of them are announced."""

from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import any_predicates, filters, messages_near

from cbnet import Predicate, covers
from cbnet.network.announce.announcement import Announcement
from cbnet.network.protocol.filter_codec import canonical_filter, filter_from_bytes, filter_to_bytes


@given(any_predicates)
def test_a_filter_comes_back_from_its_bytes(predicate):
    for filter in predicate.filters:
        written = filter_to_bytes(filter)
        assert filter_from_bytes(written) == canonical_filter(filter)
        assert filter_to_bytes(filter_from_bytes(written)) == written


@given(filters(), filters())
def test_filters_are_equal_exactly_if_their_bytes_are(one, other):
    assert (canonical_filter(one) == canonical_filter(other)) == (filter_to_bytes(one) == filter_to_bytes(other))


steps = st.lists(st.tuples(st.booleans(), filters(max_size=3)), max_size=20)


@settings(max_examples=200)
@given(steps, st.data())
def test_what_is_announced_matches_what_was_said_and_nothing_in_it_is_covered(changes, data):
    announced, said, told = Announcement(), [], set()
    for is_added, filter in changes:
        if is_added or not said:
            said.append(filter)
            announced.add(filter)
        else:
            gone = said.pop(data.draw(st.integers(0, len(said) - 1)))
            announced.remove(gone)
        if data.draw(st.booleans()):
            difference = announced.take()
            assert not told & difference.added.keys()
            assert told >= difference.removed.keys()
            told = (told | difference.added.keys()) - difference.removed.keys()
            assert told == set(announced)
        present = list(announced)
        assert covers(Predicate(present), Predicate(said))
        assert covers(Predicate(said), Predicate(present))
        assert not any(covers(one, other) for one in present for other in present if one is not other)
    message = data.draw(messages_near(*said))
    assert Predicate(announced).matches(message) == Predicate(said).matches(message)
