"""One rule set and its messages, with the rules of each message in the order that every front must return.

Priorities have ties, and reach both ends of their range; names sort differently from their order in the table. Filters
overlap, so that engines find the rules of a message in another order than that of the table.
"""

import json

RULES = [  # name, predicate, priority; None: the rule has none, which is 0
    ("zebra", "x >= 1", None),
    ("mango", "x >= 2 or x = 2", 5),
    ("apple", "x >= 1", 5),
    ("kiwi", "x >= 1 and x < 9", -1),
    ("banana", "x in (3, 4)", 7),
    ("Äpfel", "exists x and x > 0", 0),
    ("last", "true", -(2**63)),
    ("first", "x = 4", 2**63 - 1),
    ("cherry", "x != 0 and x > 0", None),
]
NUMBERS = {name: number for (name, _, _), number in zip(RULES, (30, 4, 100, 7, -1, 12, 3, 99, 8), strict=True)}
MESSAGES = [{"id": id, "x": id} for id in range(5)]
ZEROS = ["zebra", "Äpfel", "cherry"]  # priority 0, in the order of the table
EXPECTED = [  # by hand: 2^63-1, 7, 5, 0, -1, -2^63; `mango` and `apple` are a tie, `mango` is above
    ["last"],
    ["apple", *ZEROS, "kiwi", "last"],
    ["mango", "apple", *ZEROS, "kiwi", "last"],
    ["banana", "mango", "apple", *ZEROS, "kiwi", "last"],
    ["first", "banana", "mango", "apple", *ZEROS, "kiwi", "last"],
]


def rule_lines(rules=RULES, numbered=False):
    """Return rules as JSON Lines; numbered: their names are ints."""
    rows = [
        {"name": NUMBERS[name] if numbered else name, "when": when, **({} if priority is None else {"priority": priority})}
        for name, when, priority in rules
    ]  # fmt: skip
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def expected(numbered=False):
    """Return the rules of each message."""
    return [[NUMBERS[name] for name in names] for names in EXPECTED] if numbered else EXPECTED
