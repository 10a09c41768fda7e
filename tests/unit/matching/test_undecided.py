"""Messages with too many combinations of values: nothing is a silent "no", and nothing takes for ever."""

import json
import pickle
from itertools import pairwise

import pyarrow as pa
import pytest

from cbnet import Table, parse
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
