import random
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import messages_near, predicates

from cbnet._kernels.counting_match import CountingIndex
from cbnet._kernels.dict_encoding import DictEncoder
from cbnet._kernels.symbol_table import Symbols, fill_slots
from cbnet.language import Constraint, Filter, Message, Op, Predicate, parse
from cbnet.language.constraint import takes
from cbnet.language.values import value_type
from cbnet.matching.engines import counting
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet.matching.storage.columns import columns_of, columns_of_filters
from cbnet_lab.workload import as_messages, filters, messages, mix

# [2001 Figure 4]: three interfaces, seven filters.
FIGURE_4 = {
    "I1": 'dest = "Milano" and price < 500 or stock = "DYS" and quantity > 1000 and price < 500',
    "I2": 'airline = "UA" and orig = "Denver" and dest = "Milano" or dest = "New York" and price < 200 '
    'or orig = "Denver" or airline = "UA" and upgradeable = true',
    "I3": 'stock = "MSFT" and price < 200',
}
SWITCHES = [(rounds, short) for rounds in (0, 1, 10, 1000) for short in (True, False)]


def columns(texts):
    return columns_of({interface: parse(text) for interface, text in texts.items()})


class Engine:
    """A counting index over columns, with the papers' switches."""

    def __init__(self, columns, **switches):
        symbols = columns.symbols
        slots = np.zeros(1 << (2 * len(symbols) + 1).bit_length(), np.uint32)
        fill_slots(symbols.data, symbols.offsets, columns.names, slots)
        self.symbols = Symbols(symbols.data, symbols.offsets, slots, columns.names)
        self.arrays = counting.build(columns, **switches)
        self.targets = len(columns.interfaces)
        self.index = CountingIndex(self.symbols, self.arrays, self.targets)

    def batch(self, messages):
        encoder = DictEncoder(self.symbols)
        assert encoder.add_many(list(messages), 0) == len(messages)
        return encoder.batch

    def match(self, messages, *switches):
        offsets, targets, _ = self.index.match_batch(self.batch(messages), 0, len(messages), *switches)
        return [found.tolist() for found in np.split(targets, offsets[1:-1])]

    def match_one(self, members, *switches):
        out = np.empty(self.targets, np.uint32)
        return out[: self.index.match_members(members, out, *switches)].tolist()

    def work(self, messages, *switches):
        return self.index.match_batch(self.batch(messages), 0, len(messages), *switches)[2]


def brute_force(columns, messages):
    filters = [(int(columns.targets[row]), columns.filter(row)) for row in range(len(columns))]
    return [sorted({target for target, filter in filters if filter.matches(Message.of(m))}) for m in messages]


def check_all_switches(columns, messages):
    expected = brute_force(columns, messages)
    for one_string_index in (True, False):
        engine = Engine(columns, one_string_index=one_string_index)
        for rounds, short in SWITCHES:
            assert engine.match(messages, rounds, short) == expected
            assert [engine.match_one(members, rounds, short) for members in messages] == expected


# --- The same answer as brute force --------------------------------------------------------------


@given(st.data())
def test_all_options_agree_with_brute_force(data):
    rules = dict(enumerate(data.draw(st.lists(predicates(), max_size=6))))
    near = messages_near(*(filter for predicate in rules.values() for filter in predicate.filters))
    found = data.draw(st.lists(near, min_size=1, max_size=4))
    check_all_switches(columns_of(rules), [message.to_dict() for message in found])


def any_value(chance, alphabet):
    if chance.random() < 0.3:
        return chance.choice([True, False, -1, 0, 0.5, 1, 2**53, 2**53 + 1, -(2**63), 2**63 - 1, 1e300])
    return "".join(chance.choices(alphabet, k=chance.randint(0, 7)))


def any_constraint(chance, names, alphabet):
    value = any_value(chance, alphabet)
    op = chance.choice([op for op in Op if op is Op.EXISTS or (op is not Op.IN and takes(op, value_type(value)))])
    return Constraint(chance.choice(names), op, None if op is Op.EXISTS else value)


@pytest.mark.parametrize("alphabet", ["ab", "a\0", "aé€\uffff\U0010ffff", "abcdefgh"])
@pytest.mark.parametrize("interfaces", [1, 3, 64, 3000])
def test_large_random_tables_agree_with_brute_force(alphabet, interfaces):
    chance = random.Random(f"{alphabet}{interfaces}")
    names = ["x", "y", "é"]
    rules = [
        (
            chance.randrange(interfaces),
            Filter(
                [any_constraint(chance, names, alphabet) for _ in range(chance.choice([1, 1, 2, 3, 5]))],
                chance.choices("pq", k=chance.choice([0, 0, 1])),
            ),
        )
        for _ in range(600)
    ]
    found = [
        {name: any_value(chance, alphabet) for name in chance.sample(names, k=chance.randint(0, 3))}
        | {"#": chance.sample("pqr", k=chance.randint(0, 2))}
        for _ in range(20)
    ]
    check_all_switches(columns_of_filters(list(range(interfaces)), rules), found)


@pytest.mark.parametrize("op", ["=", "!=", "<", "<=", ">", ">=", "^=", "$=", "*="])
def test_every_string_operator_agrees_with_its_definition(op):
    strings = ["", "a", "ab", "aba", "abab", "ba", "bb", "b", "a\0", "\0", "é", "\U0010ffff", "abc" * 50]
    rules = {i: Predicate([Filter([Constraint("x", op, string)])]) for i, string in enumerate(strings)}
    check_all_switches(columns_of(rules), [{"x": value} for value in [*strings, "aa", "abb", "zab", "ab\0", "c" * 300]])


@pytest.mark.parametrize("size", [1, 254, 255, 256, 300, 511, 700])
def test_a_filter_of_any_size_matches_only_if_all_its_constraints_hold(size):
    whole = Filter([Constraint(f"x{i}", "=", i) for i in range(size)])
    table = columns_of({"large": Predicate([whole]), "other": parse("x0 >= 0")})
    message = {f"x{i}": i for i in range(size)}
    engine = Engine(table)
    lacking = [{**message, f"x{i}": -1} for i in {0, size // 2, size - 1}]
    for rounds, short in SWITCHES:
        assert engine.match([message, *lacking, message], rounds, short) == brute_force(
            table, [message, *lacking, message]
        )


def test_empty_filters_match_every_message_and_interfaces_without_filters_none():
    rules = {"all": Predicate([Filter()]), "none": Predicate([]), "x": parse("x = 1 or true"), "y": parse("y = 1")}
    check_all_switches(columns_of(rules), [{}, {"x": 1}, {"y": 1}, {"z": 1}])
    check_all_switches(columns_of({"none": Predicate([])}), [{}, {"x": 1}])
    check_all_switches(columns_of({}), [{}])


def test_a_substring_found_twice_counts_once():
    engine = Engine(columns({"twice": 'x *= "a" and x *= "b"'}))
    assert engine.match([{"x": "aaa"}, {"x": "aba"}]) == [[], [0]]
    assert engine.work([{"x": "aaa"}])["counters"] == 1


def test_a_repeated_tag_counts_once():
    engine = Engine(columns({"two": "#a and #b", "one": "#a"}))
    assert engine.match([{"#": ["a", "a"]}, {"#": ["a", "b", "a"]}]) == [[1], [0, 1]]


def test_more_runs_of_postings_than_are_recorded_are_all_counted():
    # Each of 3000 substrings is a run of postings of its own; the value holds them all.
    parts = [f"<{i}>" for i in range(3000)]
    rules = {i: Predicate([Filter([Constraint("x", "*=", p), Constraint("y", "=", 1)])]) for i, p in enumerate(parts)}
    engine = Engine(columns_of(rules))
    value = "".join(parts)
    for rounds, short in SWITCHES:
        found = engine.match([{"x": value, "y": 1}, {"x": value}, {"x": value[3:], "y": 1}], rounds, short)
        assert [len(targets) for targets in found] == [3000, 0, 2999]


def test_a_value_that_is_not_plain_is_refused():
    engine = Engine(columns(FIGURE_4))
    out = np.empty(3, np.uint32)
    for members in ({"price": b"1"}, {"price": 2**64}, {"price": float("nan")}, {1: 2}):
        assert engine.index.match_members(members, out) == -1
    assert engine.match_one({"orig": "Denver"}) == [1]
    with pytest.raises(ValueError, match="room for 2 targets"):
        engine.index.match_members({}, np.empty(2, np.uint32))


def test_threads_return_the_same_result():
    workload = mix("2002", filters=2000, interfaces=50, messages=200, seed=5)
    engine = Engine(columns_from_arrow(filters(workload)))
    found = as_messages(messages(workload))
    batch = engine.batch(found)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda i: engine.index.match_batch(batch, 50 * i, 50 * i + 50), range(4)))
    expected = engine.match(found)
    assert [f.tolist() for offsets, targets, _ in parts for f in np.split(targets, offsets[1:-1])] == expected
    assert [engine.match_one(members) for members in found] == expected


# --- The papers' examples ------------------------------------------------------------------------


def test_the_filters_of_figure_4_have_the_papers_sizes():  # claim 1
    assert Engine(columns(FIGURE_4)).arrays["sizes"].tolist() == [2, 3, 3, 2, 1, 2, 2]


@pytest.mark.parametrize(
    ("message", "interfaces"),
    [
        ({"dest": "Milano", "price": 450}, [0]),
        ({"dest": "Milano", "price": 500}, []),
        ({"stock": "DYS", "quantity": 1001, "price": 499}, [0]),
        ({"airline": "UA", "orig": "Denver", "dest": "Milano", "price": 300}, [0, 1]),
        ({"airline": "UA", "upgradeable": 1}, []),
        ({"stock": "MSFT", "price": 199, "orig": "Denver", "dest": "Milano"}, [0, 1, 2]),
    ],
)
def test_messages_on_figure_4_go_to_the_expected_interfaces(message, interfaces):
    check_all_switches(columns(FIGURE_4), [message])
    assert Engine(columns(FIGURE_4)).match([message]) == [interfaces]


def test_quantity_10_selects_two_of_each_kind():  # claim 2, [2001 Figure 7]
    constants = [("<", 5), ("<", 20), ("<", 350), (">", 0), (">", 3), (">", 50), (">", 200), ("<", 10), (">", 10)]
    rules = {f"{op} {value}": parse(f"quantity {op} {value}") for op, value in constants}
    engine = Engine(columns_of(rules))
    selected = [list(rules)[target] for target in engine.match([{"quantity": 10}])[0]]
    assert selected == ["< 20", "< 350", "> 0", "> 3"]
    # Four constraints, each in one filter of one constraint.
    work = engine.work([{"quantity": 10}], 0)
    assert (work["constraints"], work["postings"], work["counters"], work["nodes"]) == (4, 4, 4, 0)


def test_a_message_without_r_is_excluded_by_the_determinant_r():  # claim 22
    table = columns({"p": "r = 1 and s = 1 or r = 2 and t = 1"})
    rows = {
        table.symbols[symbol]: targets.tolist()
        for symbol, targets in counting.determinants(counting.selectivity_table(table))
    }
    assert rows == {"r": [0]}
    engine = Engine(table)
    assert engine.work([{"s": 1, "t": 1}]) == {
        "constraints": 0, "postings": 0, "counters": 0, "excluded": 1, "nodes": 0, "comparisons": 0, "rank_steps": 0,
    }  # fmt: skip


def test_determinants_of_figure_4():  # claim 23
    table = columns(FIGURE_4)
    rows = [
        (table.symbols[symbol], targets.tolist())
        for symbol, targets in counting.determinants(counting.selectivity_table(table))
    ]
    assert rows == [("price", [0, 2]), ("stock", [2])]


def test_an_interface_with_an_empty_filter_has_no_determinant_and_a_tag_can_be_one():
    table = columns({"a": "x = 1 or true", "b": "#t and y = 1 or #t and z = 1", "c": "x > 1 and x < 5"})
    rows = [
        (table.symbols[symbol], targets.tolist())
        for symbol, targets in counting.determinants(counting.selectivity_table(table))
    ]
    assert sorted(rows) == [("t", [1]), ("x", [2])]


# --- The work, counted by hand -------------------------------------------------------------------


def test_work_counters_on_figure_4_follow_the_pseudocode():
    engine = Engine(columns(FIGURE_4))
    message = {"orig": "Denver", "dest": "Milano", "price": 100}
    # Constraints that hold: orig = Denver, dest = Milano, price < 200, price < 500.
    # Their filters: f2.1 f2.3 | f1.1 f2.1 | f2.2 f3.1 | f1.1 f1.2, in that order of attributes.
    plain = engine.work([message], 0, False)
    assert (plain["constraints"], plain["postings"], plain["counters"], plain["excluded"]) == (4, 8, 8, 0)
    # f2.3 matches I2 at the second posting; then f2.1 and f2.2 are skipped, and f1.2, behind f1.1.
    short = engine.work([message], 0, True)
    assert (short["constraints"], short["postings"], short["counters"]) == (4, 8, 5)
    # The message lacks stock, so I3 is excluded in the second round (price is the first): then I1 and I2
    # are all there are, and with f1.1 it stops: f1.2 is not read.
    rounds = engine.work([message], 2, True)
    assert (rounds["excluded"], rounds["postings"], rounds["counters"]) == (1, 7, 4)
    batch = engine.batch([message, {}])
    assert engine.index.excluded_by_round(batch, 0, 2, 3).tolist() == [2, 1, 0]  # {}: I1 and I3; nothing new
    assert engine.match([message], 2, True) == [[0, 1]]


def test_pre_processing_that_excludes_all_returns_at_once():
    engine = Engine(columns({"a": "x = 1 and y = 1", "b": "x = 2 and y = 1"}))
    assert engine.work([{"y": 1}], 1)["constraints"] == 0
    assert engine.work([{"y": 1}], 0)["constraints"] == 1


def test_zero_rounds_is_the_plain_counting_algorithm():  # claim 27
    workload = mix("2002", filters=3000, interfaces=None, messages=100, seed=3)
    engine = Engine(columns_from_arrow(filters(workload)))
    found = as_messages(messages(workload))
    plain, none, ten = (engine.work(found, *switches) for switches in ((0, False), (0, True), (10, True)))
    assert plain == none  # with an interface per filter there is nothing to skip
    assert plain["counters"] == plain["postings"] > 2 * ten["counters"]
    added = engine.index.excluded_by_round(engine.batch(found), 0, len(found), 10)
    assert added.sum() == ten["excluded"]
    assert added[:3].min() > added[-3:].max()


def test_ten_rounds_exclude_about_two_thirds():  # claim 21: 131,000 of 200,000
    workload = mix("2002", filters=20_000, interfaces=None, messages=200, seed=2)
    engine = Engine(columns_from_arrow(filters(workload)))
    excluded = engine.work(as_messages(messages(workload)), 10)["excluded"] / 200 / 20_000
    assert 0.55 < excluded < 0.70


@pytest.mark.parametrize("count", [1, 10, 1000, 20_000])
def test_a_number_is_found_in_a_search_plus_its_output(count):  # claim 24
    constraints = [Filter([Constraint("x", op, i)]) for i in range(0, count, 2) for op in (Op.LT, Op.GT)]
    engine = Engine(columns_of_filters(list(range(count + 1)), list(enumerate(constraints))))
    for value in (-1, count // 3, count // 2, count):
        work = engine.work([{"x": value}], 0)
        assert work["comparisons"] <= 2 * (log2(count) + 1)
        assert work["postings"] == work["constraints"] == len(engine.match([{"x": value}], 0)[0])


@pytest.mark.parametrize("letters", ["ab", "abcdefghijklmnopqrstuvwxyz"])
@pytest.mark.parametrize("count", [10, 1000, 5000])
def test_a_string_visits_few_nodes(letters, count):  # claim 25: O(l (log N + l) + output)
    chance = random.Random(count)
    words = {"".join(chance.choices(letters, k=chance.randint(1, 12))) for _ in range(count)}
    ops = [Op.EQ, Op.PREFIX, Op.SUFFIX, Op.SUBSTRING, Op.LT, Op.GT]
    rules = [
        (0, Filter([Constraint("x", chance.choice(ops), word), Constraint("y", "=", 0)])) for word in sorted(words)
    ]
    engine = Engine(columns_of_filters([0], rules))
    for length in (0, 1, 5, 30):
        value = "".join(chance.choices(letters, k=length))
        search = log2(len(words)) + length + 1
        # A search from every byte, and one way back, which is no longer than a search for the longest word.
        assert engine.work([{"x": value}], 0)["nodes"] <= length * search + log2(len(words)) + 13


def test_one_string_index_visits_fewer_nodes_than_one_per_operator():  # claim 26
    workload = mix("2002", filters=2000, interfaces=20, messages=100, seed=1)
    table = columns_from_arrow(filters(workload))
    found = as_messages(messages(workload))
    one, apart = (Engine(table, one_string_index=one).work(found, 0, False) for one in (True, False))
    assert one["nodes"] < apart["nodes"]
    assert {**one, "nodes": 0} == {**apart, "nodes": 0}


# --- The arrays ----------------------------------------------------------------------------------


def test_the_filters_can_be_read_back_from_the_arrays():
    chance = random.Random(8)
    rules = [
        (
            chance.randrange(9),
            Filter([any_constraint(chance, ["x", "y"], "ab") for _ in range(chance.randint(0, 4))], t),
        )
        for _ in range(300)
        for t in ([], ["p"])
    ]
    table = columns_of_filters(list(range(9)), rules)
    expected = {(target, table.filter(place)) for place, target in enumerate(table.targets.tolist())}
    for one_string_index in (True, False):
        targets, offsets, words = counting.filters_of(counting.build(table, one_string_index=one_string_index))
        rows = (words[first:end].tolist() for first, end in pairwise(offsets))
        assert set(zip(targets.tolist(), map(table.decode, rows), strict=True)) == expected


def test_a_table_takes_at_most_48_bytes_per_constraint():  # [2002 §1]
    table = columns_from_arrow(filters(mix("2002", filters=20_000, interfaces=None, seed=1)))
    size = sum(array.nbytes for array in counting.build(table).values())
    assert size / len(table.words) <= 48


def test_damaged_arrays_never_crash_the_kernel():
    workload = mix("2002", filters=300, interfaces=70, messages=20, seed=4)
    table = columns_from_arrow(filters(workload))
    found = as_messages(messages(workload))
    engine = Engine(table)
    batch = engine.batch(found)
    chance = random.Random(11)
    for name, array in engine.arrays.items():
        for _ in range(20 if array.nbytes else 0):
            damaged = array.copy()
            raw = damaged.view(np.uint8)
            for place in chance.choices(range(len(raw)), k=chance.choice([1, 10, len(raw)])):
                raw[place] = chance.randrange(256)
            index = CountingIndex(engine.symbols, {**engine.arrays, name: damaged}, engine.targets)
            offsets, targets, _ = index.match_batch(batch, 0, len(batch))
            assert offsets[-1] == len(targets)
            assert (targets < engine.targets).all()


@pytest.mark.parametrize("name", ["posting_targets", "silent", "symbol_branches", "number_low", "large_rests"])
def test_sections_that_do_not_fit_together_are_refused(name):
    whole = Filter([Constraint(f"x{i}", "=", i) for i in range(300)])
    engine = Engine(columns_of({"large": Predicate([whole])}))
    for wrong in (engine.arrays[name][:-1], engine.arrays[name].astype(bool)):
        with pytest.raises(ValueError, match=f"the section {name} does not fit"):
            CountingIndex(engine.symbols, {**engine.arrays, name: wrong}, engine.targets)
