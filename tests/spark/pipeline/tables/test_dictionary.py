from collections import Counter

from cbnet.pipeline.schemas import DESCRIPTORS, SETS, TAGS
from cbnet.pipeline.tables.dictionary import number_tags, numbered_sets, set_weights

ROWS = [
    ("web", "subscription", "ann", ["jazz", "vinyl"]),
    ("web", "subscription", "bob", ["jazz"]),
    ("web", "subscription", "bob", ["piano"]),
    ("social", "subscription", "eve", ["news"]),
    ("social", "subscription", "eve", ["news", "jazz"]),
    ("social", "subscription", "fay", ["news"]),
    ("social", "subscription", "gil", []),
]


def numbers(frame):
    return [tag for tag, _ in sorted(((row.tag, row.id) for row in frame.collect()), key=lambda pair: pair[1])]


def test_numbers_rise_as_tags_become_rarer(frame):
    for partitions in (1, 2, 7):
        tags = number_tags(frame(ROWS, DESCRIPTORS, partitions), {"web": 1, "social": 1})
        assert tags.columns == TAGS.names
        assert numbers(tags) == ["jazz", "news", "piano", "vinyl"]  # 3, 3, 1, 1: ties by the tag
        counted = Counter(tag for row in ROWS for tag in row[3])
        assert {row.tag: row.sets for row in tags.collect()} == counted


def test_frequent_tags_of_the_population_come_first(frame):
    weights = set_weights({"web": 90.0, "social": 10.0}, {"web": 3, "social": 4})
    assert weights == {"web": 300_000_000_000, "social": 25_000_000_000}  # 90 % over 3, 10 % over 4, in 10^12
    tags = number_tags(frame(ROWS, DESCRIPTORS), weights)
    assert numbers(tags) == ["jazz", "piano", "vinyl", "news"]  # 625, 300, 300, 75


def test_weights_are_at_least_1():
    assert set_weights({"web": 0.0}, {"web": 0}) == {"web": 1}


def test_sets_have_the_numbers_of_their_tags_rising(frame):
    descriptors = frame(ROWS, DESCRIPTORS)
    tags = frame([("jazz", 0, 3), ("news", 1, 3), ("piano", 2, 1), ("vinyl", 3, 1)], TAGS)
    sets = numbered_sets(descriptors, tags)
    assert sets.columns == SETS.names
    actual = sorted((row.app, row.tags) for row in sets.collect())
    assert actual == [("social", [0, 1]), ("social", [1]), ("social", [1]), ("web", [0]), ("web", [0, 3]), ("web", [2])]
