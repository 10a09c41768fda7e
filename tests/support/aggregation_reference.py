"""Plain aggregation: the filters of each source in a set, and unions that are reduced from nothing each time."""

from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.relations.reduction import reduce
from cbnet.language.syntax.byte_form import filter_from_bytes, filter_to_bytes


def reduced(filters):
    """Return the reduced union of canonical filters; of filters that cover each other, the first one is kept."""
    return {filter_to_bytes(each) for each in reduce(Predicate(map(filter_from_bytes, sorted(filters))))}


class PlainAggregation:
    def __init__(self):
        self.sources = {}
        self.targets = {}

    def content(self, target):
        return reduced(set().union(*(self.sources[source] for source in self.targets[target])))

    def open(self, target, sources):
        self.targets[target] = tuple(sources)

    def matching(self, message):
        message = Message.of(message)
        return {
            source for source, filters in self.sources.items()
            if any(filter_from_bytes(each).matches(message) for each in filters)
        }  # fmt: skip
