"""Rules of other systems mean what their specifications say; the cases were written from those alone.

`python -m tests.conformance.test_dialects` prints the number of rules and cases by construct.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from cbnet import Table, parse
from cbnet.errors import InputError

# File of cases, which is also the dialect, and the key of the rule in a line.
FILES = {"eventbridge": "pattern"}

# Lines where the documents leave the answer open and ours differs, with the reason.
DIFFERENCES: dict[tuple[str, int], str] = {}


def lines(dialect):
    text = (Path(__file__).parent / "dialects" / f"{dialect}.jsonl").read_text("utf-8")
    return [(number, json.loads(line)) for number, line in enumerate(text.splitlines(), 1)]


def rules():
    for dialect, key in FILES.items():
        for number, line in lines(dialect):
            if (dialect, number) not in DIFFERENCES:
                yield pytest.param(dialect, line[key], line, id=f"{dialect}-{number}-{line['construct']}")


@pytest.mark.parametrize(("dialect", "rule", "line"), list(rules()))
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
    assert parse(str(predicate)) == predicate


def print_counts():
    """Print the number of rules and cases by dialect and construct."""
    for dialect in FILES:
        rules, cases = Counter(), Counter()
        for _, line in lines(dialect):
            rules[line["construct"]] += 1
            cases[line["construct"]] += len(line.get("cases", ()))
        print(f"{dialect}: {rules.total()} rules, {cases.total()} cases")
        for construct, count in rules.items():
            print(f"  {construct}: {count}, {cases[construct]}")


if __name__ == "__main__":
    print_counts()
