"""Rules of other systems mean what their specifications say; the cases were written from those alone.

`python -m tests.conformance.test_dialects` prints the number of rules and cases by construct.
"""

import json
from collections import Counter
from pathlib import Path

import pytest
from support.printed_forms import check_forms

from cbnet import Table, parse
from cbnet.errors import InputError

# File of cases: the dialect, and the key of the rule in a line.
FILES = {
    "eventbridge": ("eventbridge", "pattern"),
    "selectors": ("selector", "selector"),
    "cesql": ("cesql", "expression"),
    "cloudevents_filters": ("cloudevents", "filter"),
}

# Lines where we differ, with the reason: another answer to a case, or a rule that is refused.
_ORDER = "the specification restricts strings and booleans to = and <>, so an order of them is refused"
_DIVISION = "`/` keeps the fraction, as in ActiveMQ, Qpid and RabbitMQ; in Java it does not"
_32_BITS = "integers have 64 bits; in CESQL 32"
_STRINGS = "refused: predicates do not build strings"
_FUNCTION = "refused: the specification has no such function, so the expression is never true"
DIFFERENCES: dict[tuple[str, int], str] = {
    ("selectors", 130): "numbers compare exactly; Java turns the long into a double",
    ("selectors", 140): _ORDER,
    ("selectors", 145): _ORDER,
    **{("selectors", number): _DIVISION for number in (314, 315, 316, 317, 318)},
    ("selectors", 321): "a sum beyond 64 bits is computed in floats; in Java it wraps around",
    **{("cesql", number): _32_BITS for number in (98, 213, 214, 216)},
    **{("cesql", number): _STRINGS for number in (239, 242, 246, 247, 251, 253, 254, 255)},
    **{("cesql", number): _FUNCTION for number in (*range(256, 261), *range(266, 270))},
}


def lines(file):
    text = (Path(__file__).parent / "dialects" / f"{file}.jsonl").read_text("utf-8")
    return [(number, json.loads(line)) for number, line in enumerate(text.splitlines(), 1)]


def rules(*, different):
    for file, (dialect, key) in FILES.items():
        for number, line in lines(file):
            if ((file, number) in DIFFERENCES) == different:
                yield pytest.param(dialect, line[key], line, id=f"{file}-{number}-{line['construct']}")


@pytest.mark.parametrize(("dialect", "rule", "line"), list(rules(different=False)))
def test_rules_mean_what_the_specification_says(dialect, rule, line):
    if "error" in line:
        with pytest.raises(InputError):
            parse(rule, dialect=dialect)
        return
    predicate = parse(rule, dialect=dialect)
    events = [event for event, _ in line["cases"]]
    expected = [answer for _, answer in line["cases"]]
    assert [predicate.matches(event) for event in events] == expected
    assert [bool(found) for found in Table.build({"rule": rule}, dialect=dialect).match_many(events)] == expected
    check_forms(predicate)


@pytest.mark.parametrize(("dialect", "rule", "line"), list(rules(different=True)))
def test_listed_differences_are_differences(dialect, rule, line):
    try:
        predicate = parse(rule, dialect=dialect)
    except InputError:
        assert "error" not in line
    else:
        assert any(predicate.matches(event) != answer for event, answer in line["cases"])


def print_counts():
    """Print the number of rules and cases by file and construct."""
    for file in FILES:
        rules, cases = Counter(), Counter()
        for _, line in lines(file):
            rules[line["construct"]] += 1
            cases[line["construct"]] += len(line.get("cases", ()))
        print(f"{file}: {rules.total()} rules, {cases.total()} cases")
        for construct, count in rules.items():
            print(f"  {construct}: {count}, {cases[construct]}")


if __name__ == "__main__":
    print_counts()
