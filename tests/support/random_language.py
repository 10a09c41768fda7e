"""Fast random filters and messages of the whole language, from a seed: for fuzzing in a loop, without shrinking."""

import random
import string
from collections.abc import Callable

from cbnet.errors import InputError
from cbnet.language import Filter, Predicate, parse

NAMES = ("x", "y", "s", "o", "o.x", "o.s", "os", "os.x", "os.s", "os.p.x", "os.p.s", "xs", "o.xs")
DENSE = ("x", "y", "s", "o.x", "xs")
TAGS = ("p", "q", "r")
NUMBERS = (-2, -1, 0, 0.5, 1, 1.5, 2, 3, 7, 10, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 1e300)
ARRAYS = ("xs", "o.xs", "os", "os.p", "os.xs", "x", "o", "os.p.xs", "xs[0]", "os[-1].p")
POSITIONS = ("xs[0]", "xs[-1]", "xs[1]", "os[0].x", "os[-1].s", "os[1].p[0].x", "os.p[0].x", "os.xs[0]", "o.xs[1]", "x[0]", "os[0]",
    "xs[0][1]", "os[0][0].x")  # fmt: skip
ITEM_NAMES = ("@", "@", "x", "s", "xs", "p.x", "xs[0]", "count(xs)", "p", "count(p (x >= 1))", "all xs (@ > 0)", "@[0]")
STRINGS = ("", "a", "A", "ab", "aB", "b", "ba", "bab", "a%", "é", "É", "ß", "\U0010ffff", "a\0", "abcdefghij" * 3, "007", "True", "-1",
    "10.1.2.3", "10.200.0.1", "::ffff:10.1.2.3", "2001:db8::1", "10.1.2.03", "2026-11-15", "2026-11-15T01:00:00.5+01:00",
    "2026-11-14T23:59:59Z", "9999-12-31", "2026-02-30")  # fmt: skip
BLOCKS = ("10.0.0.0/8", "10.1.0.0/17", "0.0.0.0/0", "2001:db8::/32", "::/0")
REGEXES = ("^a", "^a.*b$", "[ab]{2}", "(?i)B", "\\d+$", "^(10|2001)[.:]", "é|ß", "b(a|b)*", "^$", "a(?s:.)", "(a*)*b$")
OPERATORS = ("=", "!=", "<", "<=", ">", ">=")


class RandomLanguage:
    """Random values, messages and predicates."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.names = NAMES  # to choose from

    def name(self) -> str:
        """Return the name of an attribute; some are computed from arrays."""
        if self.names is not NAMES or self.random.random() < 0.8:
            return self.random.choice(self.names)
        kind, array = self.random.randrange(4), self.random.choice(ARRAYS)
        if kind < 2:
            return self.random.choice(POSITIONS) if kind else f"count({array})"
        return f"count({array} ({self.item_predicate()}))" if kind == 2 else f"all {array} ({self.item_predicate()})"

    def item_predicate(self) -> str:
        """Return a predicate of the items of an array."""
        self.names = ITEM_NAMES
        parts = [self.part(has_tags=False) for _ in range(self.random.choice((1, 1, 2)))]
        self.names = NAMES
        return self.random.choice((" and ", " or ")).join(parts)

    def quantifier(self) -> str:
        """Return a test of the items of an array."""
        text = f"{self.random.choice(ARRAYS)} ({self.item_predicate()})"
        count = f"count({text}) {self.random.choice(OPERATORS)} {self.random.randrange(3)}"
        return self.random.choice((f"all {text}", f"not all {text}", f"none {text}", f"not none {text}", count))

    def scalar(self, *, has_null: bool = True) -> object:
        kind = self.random.randrange(8 if has_null else 7)
        if kind < 3:
            return self.random.choice(NUMBERS)
        if kind < 6:
            return self.random.choice(STRINGS)
        return self.random.choice((True, False)) if kind == 6 else None

    def text(self, value: object) -> str:
        if value is None or isinstance(value, bool):
            return str(value).lower().replace("none", "null")
        if isinstance(value, str):
            return '"' + value.replace("\\", "\\\\").replace("\0", "\\u0000").replace('"', '\\"') + '"'
        return repr(value)

    # --- predicates

    def predicate(self) -> str:
        return " or ".join(self.filter() for _ in range(self.random.choice((1, 1, 1, 2, 3))))

    def filter(self) -> str:
        return " and ".join(self.part() for _ in range(self.random.choice((1, 1, 2, 2, 3, 4))))

    def part(self, *, has_tags: bool = True) -> str:
        kind = self.random.randrange(12)
        name = self.name()
        if self.names is NAMES and self.random.random() < 0.08:
            return self.quantifier()
        if kind < 4:
            return self.constraint(name)
        if kind == 4:
            values = ", ".join(self.text(self.scalar()) for _ in range(self.random.randint(1, 4)))
            return f"{name} {self.random.choice(('in', 'in', 'not in'))} ({values})"
        if kind == 5:
            return self.random.choice(("exists", "absent", "exists")) + f" {name}"
        if kind == 6 and has_tags:
            return self.random.choice(("", "not ")) + f"#{self.random.choice(TAGS)}"
        if kind == 7:
            return f"{name} {self.random.choice(('=', '!='))} null"
        return self.random.choice(("{}", "{}", "not ({})", "({}) is not true", "({}) is not false")).format(self.test())

    def constraint(self, name: str) -> str:
        if self.random.random() < 0.5:
            return f"{name} {self.random.choice(OPERATORS)} {self.text(self.random.choice(NUMBERS))}"
        return f"{name} {self.random.choice((*OPERATORS, '^=', '$=', '*='))} {self.text(self.random.choice(STRINGS))}"

    def test(self) -> str:
        kind = self.random.randrange(10)
        left, right = self.name(), self.name()
        if kind == 9:
            duration = self.random.choice(("0", "500ms", "-3d", "1s", "15m", "24h"))
            return f"time({left}) - time({right}) {self.random.choice(OPERATORS)} {duration}"
        if kind == 0:
            return f"{left} {self.random.choice((*OPERATORS, '^=', '$=', '*='))} {right}"
        if kind == 1:
            number = self.text(self.random.choice(NUMBERS))
            return f"{self.arithmetic()} {self.random.choice(OPERATORS)} {self.random.choice((right, number))}"
        if kind == 2:
            return f"{self.random.choice(('lower', 'upper'))}({left}) = {self.text(self.random.choice(STRINGS))}"
        if kind == 3:
            pattern = "".join(self.random.choices("ab%_", k=self.random.randint(1, 5)))
            return f'{left} {self.random.choice(("like", "not like"))} "{pattern}"'
        if kind == 4:
            return self.constraint(left)
        if kind == 5:
            function = self.random.choice(("length", "abs", "int", "string", "bool"))
            return f"{function}({left}) {self.random.choice(('=', '!='))} {self.text(self.scalar())}"
        if kind == 6:
            return f'{left} {self.random.choice(("in", "not in"))} cidr("{self.random.choice(BLOCKS)}")'
        if kind == 7:
            return f"{self.random.choice((left, left, f'lower({left})'))} =~ {self.text(self.random.choice(REGEXES))}"
        return f"{left} + 1 in (1, 2, 3.5, {self.text(self.scalar())})"

    def arithmetic(self) -> str:
        operands = [
            (self.name() if self.random.random() < 0.8 else self.random.choice(("2", "0.5", "1e300")))
            for _ in range(self.random.choice((1, 2)))
        ]
        ops = self.random.choices((" + ", " - ", " * ", " / ", " div ", " mod "), k=len(operands))
        return self.name() + "".join(op + operand for op, operand in zip(ops, operands, strict=True))

    def rules(self, count: int) -> dict[object, object]:
        """Return a table of predicates; a few texts that the parser refuses are left out."""
        is_text = self.random.random() < 0.3
        rules: dict[object, object] = {}
        for number in range(count):
            try:
                rules[f"i{number}" if is_text else number] = parse(self.predicate())
            except InputError:
                continue
        return rules

    def some_filter(self) -> Filter:
        return self.accepted(self.filter).filters[0]

    def accepted(self, text: Callable[[], str]) -> Predicate:
        """Return the first predicate of random texts that the parser accepts, and that is not empty."""
        while True:
            try:
                predicate = parse(text())
            except InputError:
                continue
            if predicate.filters:
                return predicate

    # --- messages

    def message(self) -> dict[str, object]:
        members: dict[str, object] = {}
        for key in self.random.sample(("x", "y", "s", "xs", "o", "os", "o.x", "os.x", "o.xs", "other"), k=5):
            members[key] = self.member(key)
        if self.random.random() < 0.5:
            members["#"] = self.random.sample(TAGS, self.random.randrange(3))
        return members

    def member(self, key: str) -> object:
        kind = self.random.randrange(6)
        if key in ("o", "os", "other", "p") and kind < 5:
            if kind < 2:
                return self.inner()
            return [
                self.inner() if self.random.random() < 0.8 else self.nested() for _ in range(self.random.randrange(4))
            ]
        return self.scalar() if kind < 4 else [self.scalar() for _ in range(self.random.randrange(4))]

    def inner(self) -> dict[str, object]:
        keys = self.random.sample(("x", "s", "xs", "p", "p.x"), k=self.random.randrange(4))
        return {key: self.member(key) if self.random.random() < 0.7 else self.scalar() for key in keys}

    def nested(self) -> object:
        return self.random.choice((self.scalar, lambda: [self.inner(), self.scalar()], lambda: [[self.inner()]]))()

    def flat_message(self) -> dict[str, object]:
        names = self.random.sample(NAMES, k=self.random.randrange(6))
        tags = {"#": self.random.sample(TAGS, 1)} if self.random.random() < 0.5 else {}
        return {name: self.scalar() for name in names} | tags

    # --- ranges over attributes that every message has

    def range_filter(self) -> str:
        """Return ranges of half of the values or more, on one to four attributes; seldom with another part."""
        parts = [self.range(name) for name in self.random.sample(DENSE, k=self.random.choice((1, 2, 3, 4)))]
        return " and ".join(parts + [self.part()] * (self.random.random() < 0.2))

    def range(self, name: str) -> str:
        values = STRINGS if self.random.random() < 0.4 else NUMBERS
        low, high = sorted(self.random.choices(values, k=2))
        ends = [f"{name} {self.random.choice(('>', '>=', '>='))} {self.text(low)}"]
        ends.append(f"{name} {self.random.choice(('<', '<=', '<='))} {self.text(high)}")
        return " and ".join(self.random.choice((ends, ends, ends[:1], ends[1:], [f"{name} != {self.text(low)}"])))

    def range_rules(self, count: int) -> dict[object, object]:
        """Return a table of predicates of ranges; some rules have several, some filters belong to several rules."""
        filters = [self.accepted(self.range_filter) for _ in range(count)]
        return {
            number: Predicate(filter for each in self.random.choices(filters, k=self.random.choice((1, 1, 2)))
                              for filter in each.filters)
            for number in range(count)
        }  # fmt: skip

    def dense_message(self) -> dict[str, object]:
        """Return a message that has most attributes of ranges, some with several values."""
        members: dict[str, object] = {}
        for name in self.random.sample(DENSE, k=self.random.choice((3, 4, 5))):
            several = self.random.choice((0, 0, 0, 0, 2, 3))
            members[name] = [self.scalar() for _ in range(several)] if several else self.scalar(has_null=False)
        if self.random.random() < 0.3:
            members["os"] = [self.inner() for _ in range(self.random.randrange(3))]
        return members

    def word(self, length: int = 3) -> str:
        return "".join(self.random.choices(string.ascii_lowercase, k=length))
