"""Live tables that begin with very many filters, compiled at once."""

from random import Random

import pytest

from cbnet import Filter, parse_filter
from cbnet.matching import LiveTable

TAGS = "abcdef"


def descriptors(seed, count=300):
    """Return distinct pairs of a rule and a filter of tags."""
    random = Random(seed)
    pairs = ((random.randint(1, 9), Filter((), random.sample(TAGS, random.randint(1, 4)))) for _ in range(count))
    return list(dict.fromkeys(pairs))


def matched(pairs, message):
    return {rule for rule, filter in pairs if filter.matches(message)}


def assert_matches(table, pairs, seed=0):
    random = Random(seed)
    for _ in range(50):
        message = {"#": random.sample(TAGS, random.randint(0, 6)), "x": random.randint(0, 9)}
        assert set(table.match(message)) == matched(pairs, message)


@pytest.mark.parametrize("seed", range(5))
def test_filled_tables_match_by_brute_force_while_filters_change(seed):
    random, table, pairs = Random(seed), LiveTable(), descriptors(seed)
    own = (20, parse_filter("x > 5"))
    table.add(*own)
    more = [(3, parse_filter("x = 4 and #a")), (21, Filter())]
    table.fill(iter([*pairs, *more]))
    pairs += [own, *more]
    assert_matches(table, pairs)
    for rule, filter in random.sample(pairs, len(pairs) // 2):
        assert table.remove(rule, filter)
        pairs.remove((rule, filter))
    assert_matches(table, pairs)
    assert {filter for rule, filter in pairs if rule == 3} == table.filters(3)
    assert not table.add(*pairs[0])
    assert_matches(table.snapshot(), pairs)


def test_a_table_that_has_a_base_is_filled_too():
    table, pairs = LiveTable(), descriptors(1)
    table.fill(pairs[:50])
    table.fill(pairs[50:])
    assert_matches(table, pairs)
