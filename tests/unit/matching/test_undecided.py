"""Messages with too many combinations of values: nothing is a silent "no", and nothing takes for ever."""

import json
import pickle
from itertools import pairwise

import msgspec
import pyarrow as pa
import pytest

from cbnet import Table, parse
from cbnet._kernels.frame_matching import LiveMatcher
from cbnet.errors import InputError, UndecidedError
from cbnet.matching import LiveTable
from cbnet.matching.files.file_matching import FileMatcher

NUMBERS = list(range(400))
WIDE = {"x": 1, "a": NUMBERS, "b": NUMBERS, "#": ["t"]}
RULES = {
    "none": "a + b = -1",  # 160,000 combinations, none of which satisfies it
    "found": "a + b = 0",  # the first
    "plain": "x = 1",
    "tag": "#t and a = 399",
    "other": "a + b = -2 or x = 1",  # its second filter decides it
}
DECIDED = ["found", "plain", "tag", "other"]


@pytest.fixture(params=["pivot", "counting"])
def table(request):
    return Table.build(RULES, engine=request.param)


def test_a_message_names_the_rules_that_are_undecided_and_those_that_match(table):
    with pytest.raises(UndecidedError, match="undecided for rule 'none'") as caught:
        table.match(WIDE)
    assert (list(caught.value.undecided), list(caught.value.rules)) == (["none"], DECIDED)
    assert "100,000 combinations" in str(caught.value)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), list(copy.rules)) == (str(caught.value), DECIDED)


def test_fewer_combinations_are_all_examined(table):
    few = WIDE | {"a": NUMBERS[:240]}
    assert table.match(few) == ["found", "plain", "other"]


def test_one_undecided_message_of_many_is_named(table):
    with pytest.raises(InputError, match="message 2: undecided for rule 'none'"):
        table.match_many([{"x": 1}, WIDE, {"x": 2}])
    frame = pa.table({"x": [1, 1, 2], "a": [[], NUMBERS, [1]], "b": [[], NUMBERS, [1]]})
    with pytest.raises(InputError, match="row 2, undecided for rule 'none'"):
        table.match_frame(frame)


def test_undecided_lines_are_rejected_and_the_others_matched(table):
    lines = [{"x": 1}, {name: value for name, value in WIDE.items() if name != "#"}, {"a": 1, "b": -2}]
    text = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    parts = [text, b""]
    (matched,) = FileMatcher(table._compiled).match_lines(lambda _: parts.pop(0), "in.jsonl")
    assert matched.numbers == [1, 3]
    assert [str(error).partition(":")[0] for error in matched.errors.values()] == ["in.jsonl"]
    assert matched.errors[2].line == 2
    names = [*RULES]
    starts = matched.offsets.tolist()
    found = [[names[target] for target in matched.targets[a:b]] for a, b in pairwise(starts)]
    assert found == [["plain", "other"], ["none"]]


def test_the_definition_is_undecided_too():
    with pytest.raises(UndecidedError):
        parse(RULES["none"]).matches(WIDE)
    assert parse(RULES["other"]).matches(WIDE)
    assert parse(RULES["found"]).matches(WIDE)


def test_explanations_do_not_say_that_a_condition_fails(table):
    explanation = table.explain(WIDE, "none")
    assert str(explanation.near_misses[0].failures[0]) == (
        "a + b = -1 is undecided: there are more than 100,000 combinations of values to examine"
    )


class Credit:
    """A credit that is the same for each rule."""

    def __init__(self, left):
        self.left = dict.fromkeys(RULES, left)
        self.asked = []

    def limit(self, rule):
        self.asked.append(rule)
        return self.left[rule]

    def charge(self, rule, count):
        self.left[rule] -= count


@pytest.mark.parametrize("is_compiled", [True, False])
def test_live_tables_spend_a_credit(is_compiled):
    live = LiveTable(Table.build(RULES if is_compiled else {}))
    if not is_compiled:
        for name, text in RULES.items():
            live.replace(name, parse(text))
    credit = Credit(5_000)
    with pytest.raises(UndecidedError) as caught:
        live.match(WIDE, credit)
    assert (list(caught.value.undecided), list(caught.value.rules)) == (["none"], DECIDED)
    assert credit.left["none"] == 0
    assert min(credit.left.values()) == 0
    assert {rule for rule, left in credit.left.items() if left == 5_000} >= {"plain", "tag"}
    with pytest.raises(UndecidedError):
        live.match(WIDE, credit)
    assert credit.left["none"] == 0


def test_a_credit_is_not_asked_for_what_is_cheap():
    credit = Credit(0)
    live = LiveTable(Table.build(RULES))
    assert live.match({"x": 1, "a": [1, 2, 3], "b": [-2, 7]}, credit) == ["none", "found", "plain", "other"]
    assert live.match({"a": NUMBERS, "b": 1}, credit) == []
    assert credit.asked == []


def test_others_of_a_rule_that_two_share_are_decided():
    """Equal filters of several rules are one entry of the table: all of them are undecided together."""
    table = Table.build({"one": "a + b = -1", "two": "a + b = -1", "three": "x = 1"})
    with pytest.raises(UndecidedError) as caught:
        table.match(WIDE)
    assert (list(caught.value.undecided), list(caught.value.rules)) == (["one", "two"], ["three"])
    assert "and 1 more" in str(caught.value)


EXPENSIVE = "(?:a?){{150}}a{{150}}[xy]{}"  # more than 400 steps at each place of a text of as
LONG = {"x": "a" * 20_000 + "!", "y": "ab1"}
PATTERNS = {f"attack {n}": f'x =~ "{EXPENSIVE.format(n)}"' for n in range(20)} | {
    "honest": 'y =~ "[0-9]"',
    "plain": 'y = "ab1"',
    "other": 'y =~ "[b-z]+[0-9]"',
    "short": 'x =~ "^a+$"',
}
HONEST = ["honest", "plain", "other"]


class PatternCredit(Credit):
    def __init__(self, left, honest=5_000):
        self.left = {rule: left if rule.startswith("attack") else honest for rule in PATTERNS}
        self.asked = []


def live_table(rules, is_compiled):
    live = LiveTable(Table.build(rules if is_compiled else {}))
    if not is_compiled:
        for name, text in rules.items():
            live.replace(name, parse(text))
    return live


@pytest.mark.parametrize("message", [LONG, LONG | {"x": [LONG["x"], "b"]}], ids=["single", "several"])
@pytest.mark.parametrize("is_compiled", [True, False])
def test_regular_expressions_spend_a_credit(is_compiled, message):
    """Each search would take over 8 million steps, which are 400,000 combinations."""
    live = live_table(PATTERNS, is_compiled)
    credit = PatternCredit(1_000)
    with pytest.raises(UndecidedError) as caught:
        live.match(message, credit)
    attacks = [rule for rule in PATTERNS if rule.startswith("attack")]
    assert sorted(caught.value.undecided) == sorted(attacks)
    assert sorted(caught.value.rules) == sorted(HONEST)
    assert {credit.left[rule] for rule in attacks} == {0}
    assert all(credit.left[rule] > 0 for rule in (*HONEST, "short"))


def test_a_credit_is_not_asked_for_short_texts_and_simple_patterns():
    credit = PatternCredit(0, 0)
    live = LiveTable(Table.build(PATTERNS))
    assert live.match({"x": "b" * 3_000, "y": "ab1"}, credit) == HONEST
    assert credit.asked == []


def test_without_a_credit_regular_expressions_are_decided():
    live = LiveTable(Table.build(PATTERNS))
    credit = PatternCredit(0)
    with pytest.raises(UndecidedError):
        live.match(LONG, credit)
    assert live.match({"x": "a" * 2_000 + "!", "y": "ab1"}) == HONEST
    assert live.match({"x": "a" * 2_000 + "x7", "y": "ab1"}) == ["attack 7", *HONEST]


def test_a_rule_cannot_use_up_the_credit_of_another_with_an_equal_filter():
    pattern = 'x =~ "(?:a?){150}[xy]" or x =~ "(?:a?){151}[xy]"'
    live = LiveTable(Table.build({"attack 0": pattern, "short": pattern}))
    credit = PatternCredit(0, 1_000_000)
    assert live.match({"x": "a" * 5_000 + "x"}, credit) == ["attack 0", "short"]
    assert credit.left["attack 0"] == 0
    assert credit.left["short"] < 1_000_000


def test_frames_with_expensive_searches_are_left_to_python():
    live = LiveTable(Table.build(dict(enumerate(PATTERNS.values()))))
    matcher = LiveMatcher(live)

    def frame(message):
        return b"".join(map(msgspec.msgpack.encode, (message, [], b"")))

    assert matcher.match_frame(frame({"x": "b" * 3_000, "y": "ab1"})) == [20, 21, 22]
    assert matcher.match_frame(frame(LONG)) is None
    assert matcher.match_frame(frame({"y": "ab1"})) == [20, 21, 22]


def test_regular_expressions_in_items_are_bounded():
    """500 items of 1,000 characters and 400 steps are 200 million steps: a million values, in Python's units."""
    live = LiveTable(Table.build({"none": f'count(x (@ =~ "{EXPENSIVE.format(0)}")) = 1', "plain": "y = 1"}))
    with pytest.raises(UndecidedError) as caught:
        live.match({"x": ["a" * 1_000 + "!"] * 500, "y": 1}, Credit(1_000))
    assert (list(caught.value.undecided), list(caught.value.rules)) == (["none"], ["plain"])
