"""Which filters are announced: those that no other covers; what was covered comes back."""

from cbnet import Predicate, covers, parse_filter
from cbnet.network.announce import announcement as module
from cbnet.network.announce.announcement import Announcement


def announced(*texts):
    new = Announcement()
    for text in texts:
        new.add(parse_filter(text))
    return new


def texts(filters):
    return {str(filter) for filter in filters}


def test_only_uncovered_filters_are_announced():
    known = announced("x > 2", "x > 3 and #a", "y = 1", "x > 2")
    assert texts(known) == {"x > 2", "y = 1"}
    assert known.distinct == 3


def test_a_filter_that_is_covered_changes_nothing():
    known = announced("x > 2")
    known.take()
    known.add(parse_filter("x > 3"))
    assert not known.pending
    known.remove(parse_filter("x > 3"))
    assert not known.pending


def test_wider_filter_replaces_those_it_covers():
    known = announced("x > 2 and y = 1", "x > 5", "z = 1")
    known.take()
    known.add(parse_filter("x > 1"))
    assert texts(known.pending.added) == {"x > 1"}
    assert texts(known.pending.removed) == {"x > 2 and y = 1", "x > 5"}


def test_removal_announces_only_filters_that_are_now_uncovered():
    known = announced("x > 1", "x > 2", "x > 3", "x > 2 and y = 1", "z = 1")
    known.take()
    known.remove(parse_filter("x > 1"))
    assert texts(known.pending.added) == {"x > 2"}
    assert texts(known.pending.removed) == {"x > 1"}
    assert texts(known) == {"x > 2", "z = 1"}


def test_filter_of_two_subscriptions_is_removed_with_the_second():
    known = announced("x = 1", "x = 1")
    known.remove(parse_filter("x = 1"))
    assert texts(known) == {"x = 1"}
    known.remove(parse_filter("x = 1"))
    assert texts(known) == set()


def test_filter_added_and_removed_before_a_take_is_not_announced():
    known = announced("x = 1")
    known.remove(parse_filter("x = 1"))
    assert not known.take()


def test_a_filter_that_nothing_matches_is_not_announced():
    assert texts(announced("x > 2 and x < 1", "x = 1 and x = true")) == set()


def test_the_same_filter_in_two_orders_is_one():
    known = announced('s ^= "" and s *= ""')  # each implies the other: either may be left out
    known.remove(parse_filter('s *= "" and s ^= ""'))
    assert texts(known) == set()


def test_a_range_of_one_value_is_covered_by_that_value():
    assert texts(announced("x = 5", "x >= 5 and x <= 5")) == {"x = 5"}
    assert texts(announced("x >= 5 and x <= 5", "x = 5")) == {"x <= 5 and x >= 5"}


def test_true_covers_all():
    known = announced("x = 1", "#a", "true")
    assert texts(known) == {"true"}
    known.remove(parse_filter("true"))
    assert texts(known) == {"x = 1", "#a"}


def test_without_the_limit_every_filter_is_announced():
    known = Announcement(is_limited=False)
    for text in ("x > 2", "x > 3", "x > 2"):
        known.add(parse_filter(text))
    assert texts(known) == {"x > 2", "x > 3"}
    known.remove(parse_filter("x > 2"))
    known.remove(parse_filter("x > 2"))
    assert texts(known) == {"x > 3"}


def test_bounded_search_may_announce_more_and_loses_nothing(monkeypatch):
    monkeypatch.setattr(module, "_MAX_FAILED_COMPARISONS", 2)
    said = [parse_filter(f"x > {n} and y < {n}") for n in range(6)] + [parse_filter("x > 5")]
    known = Announcement()
    for filter in said:
        known.add(filter)
        assert covers(Predicate(known), Predicate(f for f in said if f in known._counts))
    known.add(parse_filter("x > 4"))
    assert parse_filter("x > 4") in set(known)
    for filter in [*said[::2], parse_filter("x > 4"), *said[1::2]]:
        known.remove(filter)
    assert not set(known)


def test_filter_that_covers_many_replaces_all_of_them(monkeypatch):
    monkeypatch.setattr(module, "_MAX_FAILED_COMPARISONS", 2)
    known = announced(*(f"x = {n}" for n in range(20)))
    known.add(parse_filter("x >= 0"))
    assert texts(known) == {"x >= 0"}


def counting(monkeypatch, owner, name):
    """Return a list that grows by one with every call."""
    calls = []
    real = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *given: calls.append(1) or real(*given))
    return calls


def test_filters_that_go_together_find_no_new_places_before_they_go(monkeypatch):
    nested = [parse_filter(f"x > {n}") for n in range(50)]
    known = announced("x > 60", "y = 1")
    for filter in nested:
        known.add(filter)
    assert texts(known) == {"x > 0", "y = 1"}
    placed = counting(monkeypatch, Announcement, "_insert")
    known.remove(*nested)
    assert len(placed) == 1  # that which stays
    assert texts(known) == {"x > 60", "y = 1"}
    known.add(parse_filter("x > 59"))
    assert texts(known) == {"x > 59", "y = 1"}


def test_order_of_removals_does_not_matter():
    filters = [parse_filter(text) for text in ("x > 1", "x > 2", "x > 3", "#a", "x > 2 and #a")]
    for gone in ([0, 1, 2], [2, 1, 0], [4, 0, 3], [1, 4], [0, 1, 2, 3, 4]):
        known = Announcement()
        for filter in filters:
            known.add(filter)
        known.remove(*(filters[place] for place in gone))
        stays = Predicate(filter for place, filter in enumerate(filters) if place not in gone)
        assert covers(Predicate(known), stays)
        assert covers(stays, Predicate(known))
        assert known.distinct == len(stays)


def test_a_new_filter_is_set_against_few_however_many_overlap(monkeypatch):
    known = announced(*(f"x != {n} and y != {n}" for n in range(200)))
    asked = counting(monkeypatch, module.FilterAnalysis, "implies")
    known.add(parse_filter("x != 500 and y != 500"))
    assert len(asked) <= 2 * 64  # whether one covers it, and whether it covers one


def test_filter_with_two_conditions_on_one_test_is_withdrawn():
    known = Announcement()
    filter = parse_filter("lower(x) < y and (lower(x) < y) is not false")
    known.add(filter)
    known.remove(filter)
    assert list(known) == []
