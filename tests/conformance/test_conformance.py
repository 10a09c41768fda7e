"""The cases of the data files, over everything that gives an answer to them."""

import tomllib
from pathlib import Path

import pytest

from cbnet import Table, counterexample, covers, parse
from cbnet.errors import PredicateSyntaxError
from cbnet.language.syntax.json_form import message_from_json


def cases(name):
    with (Path(__file__).parent / f"{name}.toml").open("rb") as file:
        rows = tomllib.load(file)["case"]
    return [pytest.param(row, id=f"{number}") for number, row in enumerate(rows, 1)]


@pytest.mark.parametrize("case", cases("covering"))
def test_covering(case):
    wide, narrow = parse(case["wide"]), parse(case["narrow"])
    assert covers(wide, narrow) == case["covers"], case["reason"]
    message = counterexample(wide, narrow)
    assert message is None or (narrow.matches(message) and not wide.matches(message))
    assert not (case["covers"] and message)


@pytest.mark.parametrize("case", cases("matching"))
def test_matching(case):
    message = message_from_json(case["message"])
    table = Table.build({"case": case["predicate"], "everything": "true", "nothing": "false"})
    expected = ["case", "everything"] if case["matches"] else ["everything"]
    assert table.match(message) == expected, case["reason"]
    assert table.explain(message, "case").matched == case["matches"]


@pytest.mark.parametrize("case", cases("bad_predicates"))
def test_bad_predicates(case):
    with pytest.raises(PredicateSyntaxError) as error:
        parse(case["text"])
    assert error.value.column == case["column"]
    assert case["says"] in error.value.summary
    assert error.value.hint


def test_there_are_enough_cases_of_both_answers():
    covering = [row.values[0]["covers"] for row in cases("covering")]
    matching = [row.values[0]["matches"] for row in cases("matching")]
    assert len(covering) >= 200
    assert len(matching) >= 100
    assert 0.3 < sum(covering) / len(covering) < 0.7
    assert 0.3 < sum(matching) / len(matching) < 0.7
