"""The cases of the data files, run over every engine and matcher."""

import tomllib
from pathlib import Path

import pytest

from cbnet import Table, counterexample, covers, parse
from cbnet.errors import PredicateSyntaxError
from cbnet.language.syntax.json_form import message_from_json
from cbnet.matching import LiveTable, reference
from cbnet.matching.engines.registry import ENGINES, TAG_ENGINES


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


def match_with_reference(predicates, message):
    return reference.match(predicates, message)


def match_with_engine(engine):
    return lambda predicates, message: Table.build(predicates, engine=engine).match(message)


def match_with_live_base(predicates, message):
    return LiveTable(Table.build(predicates)).match(message)


def match_with_live_additions(predicates, message):
    table = LiveTable(Table.build(dict.fromkeys(predicates, "false")))
    for rule, predicate in predicates.items():
        for filter in predicate.filters:
            table.add(rule, filter)
    return table.match(message)


MATCHERS = {
    "reference": match_with_reference,
    **{engine: match_with_engine(engine) for engine in (*ENGINES, *TAG_ENGINES)},
    "live base": match_with_live_base,
    "live additions": match_with_live_additions,
}


def has_only_tags(predicate):
    return not any(filter.constraints for filter in predicate.filters)


def matching_cases(matcher):
    tags_only = matcher in TAG_ENGINES
    return [case for case in cases("matching") if not tags_only or has_only_tags(parse(case.values[0]["predicate"]))]


@pytest.mark.parametrize(
    ("matcher", "case"),
    [
        pytest.param(matcher, case.values[0], id=f"{matcher}-{case.id}")
        for matcher in MATCHERS
        for case in matching_cases(matcher)
    ],
)
def test_matching(matcher, case):
    message = message_from_json(case["message"])
    predicates = {"case": parse(case["predicate"]), "everything": parse("true"), "nothing": parse("false")}
    expected = ["case", "everything"] if case["matches"] else ["everything"]
    assert MATCHERS[matcher](predicates, message) == expected, case["reason"]


@pytest.mark.parametrize("case", cases("matching"))
def test_explanations_agree_with_matching(case):
    table = Table.build({"case": case["predicate"]})
    assert table.explain(message_from_json(case["message"]), "case").matched == case["matches"]


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
    for engine in TAG_ENGINES:
        assert {case.values[0]["matches"] for case in matching_cases(engine)} == {True, False}
