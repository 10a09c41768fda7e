"""Laws of aggregation: after any sequence of changes, each target has the reduced union of its sources."""

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st
from support.aggregation_reference import PlainAggregation, reduced
from support.rich_language import nested_messages, rich_filters
from support.strategies import filters

from cbnet.language import Filter, Predicate, parse
from cbnet.language.relations.covering import FilterAnalysis
from cbnet.language.relations.normal_form import normalised
from cbnet.language.syntax.byte_form import filter_from_bytes, filter_to_bytes
from cbnet.matching.storage.filter_encoding import encode_filter
from cbnet.network.forwarding.timed_table import TimedTable, empty_table
from cbnet.routing.aggregation.aggregation import Aggregation
from cbnet.routing.aggregation.dominance import DominanceIndex
from cbnet.routing.aggregation.match_slots import Slots
from cbnet.routing.interests import Interests

TEXTS = (
    "k = 0", "k = 1", "k < 2", "k < 3", "k > 1", "k != 1", "k = 0 or k = 3", "k = 1 and #a", "k >= 0 and j = 1",
    "#a", "#a and #b", 's ^= "x"', 's ^= "xy" and k > 0', "b != true", "b = false and k < 3", "true",
    "k in (0, 2, null)", "k in (0, 1, 2, null)", "k = null", "k != null", 'k in (1, "1") and #a', "absent k", "j < k",
    'd.s = "on" and not (name ^= "x")', 'd.s = "on"', "e.p * e.n > 10", "e.p = 5 and e.n = 1", "(k = 1) is not true",
    's like "x%z%" or lower(name) = "yes"', "not #a and k >= 0", "e.n not in (1, 2)", "j < k and k > 2", "k >= 1 and k <= 1",
    "not (k <= j)", 's >= "x" and s <= "x"', 's $= "yz"', 's *= "z"', 's ^= "x" and s $= "z"', "k in (0, 1)", "k in (false, true)",
)  # fmt: skip
NAMES = ("own", "north", "south", "east")


@cache
def known_filters():
    return sorted(
        {
            encoded
            for text in TEXTS
            for each in parse(text)
            if (encoded := normalised(filter_to_bytes(each))) is not None
        }
    )


def is_announceable(encoded):
    """Return whether a message can match, and the text of conditions is parsed again: not that of -(2**63)."""
    return encoded is not None and b"-9223372036854775808" not in encoded


encoded_filters = st.one_of(
    st.sampled_from(known_filters()),
    filters().map(filter_to_bytes).map(normalised),
    rich_filters.map(filter_to_bytes).map(normalised),
).filter(is_announceable)
pools = st.lists(encoded_filters, min_size=1, max_size=40, unique=True)


def applied(known, difference):
    """Return what a neighbour has after a change; a filter in both lists stays."""
    return (known - set(difference.removed)) | set(difference.added)


class Both:
    """An aggregation and its reference, changed together."""

    def __init__(self, slice):
        self.table = TimedTable(empty_table())
        slots = Slots()
        self.table.add_tests(slots.take("other holder"), [encode_filter(Filter())])
        self.actual, self.expected = Aggregation(self.table, slots, slice), PlainAggregation()
        self.known, self.sent = {}, {}  # what the neighbour of a target has; of those that do not have all yet

    def add_source(self, source, base):
        if source not in self.expected.sources:
            self.actual.add_source(source, base, is_matched=source != "own")
            self.expected.sources[source] = set(self.expected.sources.get(base, ()))

    def remove_source(self, source):
        for target in [name for name, sources in self.expected.targets.items() if source in sources]:
            self.close(target)
        self.actual.remove_source(source)
        del self.expected.sources[source]

    def change(self, source, content):
        content = set(content) if source == "own" else reduced(content)
        before = self.expected.sources[source]
        self.actual.change(source, content - before, before - content)
        self.expected.sources[source] = content

    def open(self, target, sources):
        if target not in self.expected.targets:
            self.actual.open(target, sources)
            self.expected.open(target, sources)

    def close(self, target):
        if self.expected.targets.pop(target, None) is not None:
            self.actual.close(target)
            self.known.pop(target, None)
            self.sent.pop(target, None)

    def take(self, target):
        """Let the neighbour of a target know its changes."""
        if target in self.known:
            self.known[target] = applied(self.known[target], self.actual.take(target))
            assert self.known[target] == self.actual.content(target)

    def send(self, target, base):
        """Begin to announce a target, or send the next slice."""
        if target not in self.expected.targets or not self.actual.is_ready(target):
            return
        if target not in self.known and target not in self.sent:
            if base not in self.known or base == target:
                base = None
            else:
                self.take(base)
            self.actual.begin(target, base)
            self.sent[target] = set() if base is None else set(self.known[base])
        if target in self.sent:
            self.sent[target] = applied(self.sent[target], self.actual.send_some(target))
            if not self.actual.is_sending(target):
                self.known[target] = self.sent.pop(target)

    def check(self):
        for target in self.expected.targets:
            if self.actual.is_ready(target):
                self.check_content(target, self.actual.content(target))
        for source, content in self.expected.sources.items():
            assert self.actual.filters(source) == content
            assert self.actual.count(source) == len(content)
        union = set().union(*self.expected.sources.values())
        assert len(self.actual) == len(union) or (len(self.actual) > len(union) and self.actual.has_work)
        assert self.actual.total(self.expected.sources) == (len(union), sum(map(len, union)))

    def check_content(self, target, content):
        """Check that the filters of a target are announced, or covered by some that are; and nothing else after all."""
        expected = self.expected.content(target)
        if not self.actual.has_work:
            assert content == expected
            assert self.actual.size(target) == len(content)
        for each in expected - content:
            analysis = FilterAnalysis(filter_from_bytes(each))
            assert any(analysis.implies(filter_from_bytes(wide)) for wide in content)

    def check_matches(self, messages):
        """Check the sources that messages match; a source that leaves may match, too."""
        known = sum(map(self.actual.bit, self.expected.sources)) if self.actual.has_work else -1
        for message in messages:
            expected = {source for source in self.expected.matching(message) if source != "own"}
            assert self.actual.matched(self.table.match(message)) & known == sum(map(self.actual.bit, expected))
        streams = (content for source, content in self.expected.sources.items() if source != "own")
        assert self.table.size == 1 + len(set().union(*streams)) or self.actual.has_work


def step(draw, both, pool):
    present = sorted(both.expected.sources)
    streams = [name for name in present if name != "own"]
    some = st.sampled_from(pool)
    match draw(st.integers(0, 14)):
        case 0:
            both.add_source(draw(st.sampled_from(NAMES[1:])), draw(st.sampled_from([None, *streams])))
        case 1 if streams:
            both.remove_source(draw(st.sampled_from(streams)))
        case 2 | 3:
            both.open(draw(st.integers(0, 3)), draw(st.sets(st.sampled_from(present))))
        case 4:
            both.close(draw(st.integers(0, 3)))
        case 5:
            both.take(draw(st.integers(0, 3)))
        case 6 | 11:
            both.actual.work()
        case 12 | 13 | 14:
            both.send(draw(st.integers(0, 3)), draw(st.integers(0, 3)))
        case 7:
            both.change(draw(st.sampled_from(present)), draw(st.sets(some)))
        case _:
            source = draw(st.sampled_from(present))
            content = both.expected.sources[source]
            both.change(source, (content | draw(st.sets(some, max_size=3))) - draw(st.sets(some, max_size=2)))


@settings(deadline=None)
@given(st.data())
def test_each_target_has_the_reduced_union_of_its_sources(data):
    both, pool = Both(data.draw(st.integers(1, 4))), data.draw(pools)
    both.add_source("own", None)
    both.add_source("north", None)
    for _ in range(data.draw(st.integers(1, 25))):
        step(data.draw, both, pool)
        both.check()
    messages = data.draw(st.lists(nested_messages, max_size=3))
    both.check_matches(messages)
    while both.actual.has_work:
        both.actual.work()
    for target in both.known:
        both.take(target)
    both.check()
    both.check_matches(messages)


@settings(deadline=None)
@given(pools)
def test_the_index_finds_exactly_the_filters_that_cover_and_dominate(pool):
    analyses = [FilterAnalysis(filter_from_bytes(each)) for each in pool]

    def covers(wide, narrow):
        return wide != narrow and analyses[narrow].implies(analyses[wide].filter)

    def dominates(wide, narrow):
        return covers(wide, narrow) and (pool[wide] < pool[narrow] or not covers(narrow, wide))

    index = DominanceIndex(pool)
    rows = range(len(pool))
    for row in rows:
        index.add(row)
    for row in rows:
        assert set(index.covering(row)) == {wide for wide in rows if covers(wide, row)}
        assert set(index.covered(row)) == {narrow for narrow in rows if covers(row, narrow)}
        assert set(index.dominators(row)) == {wide for wide in rows if dominates(wide, row)}
        assert set(index.dominated(row)) == {narrow for narrow in rows if dominates(row, narrow)}


@settings(deadline=None)
@given(st.lists(st.sets(encoded_filters, max_size=8), min_size=1, max_size=4))
def test_the_content_of_a_target_is_the_disjunction_that_routing_computes(contents):
    aggregation = Aggregation(TimedTable(empty_table()), Slots())
    for source, content in enumerate(contents):
        aggregation.add_source(source, is_reduced=False)
        aggregation.change(source, content, [])
    aggregation.open("target", range(len(contents)))
    interests = Interests({source: Predicate(map(filter_from_bytes, each)) for source, each in enumerate(contents)})
    disjunction = interests.predicate(interests.disjunction(map(interests.of, range(len(contents)))))
    assert aggregation.content("target") == set(map(filter_to_bytes, disjunction))
