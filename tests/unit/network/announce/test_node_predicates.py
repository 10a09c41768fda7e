from cbnet import parse
from cbnet.network.announce.node_predicates import NodePredicates
from cbnet.network.protocol.filter_codec import filter_to_bytes


def written(text):
    return {filter_to_bytes(filter): filter for filter in parse(text).filters}


def test_changes_count_the_filters_that_were_added_and_removed():
    predicates = NodePredicates()
    predicates.replace("a", written("x = 1 or y = 2"))
    assert predicates.changes == 2
    predicates.replace("a", written("x = 1 or y = 2"))  # a renewed record
    assert predicates.changes == 2
    predicates.replace("a", written("x = 1 or y = 3"))
    assert predicates.changes == 4
    predicates.forget("a")
    assert predicates.changes == 6
