"""Random data sets of every kind of value, with rules near their values, and the forms in which tools hold them."""

import json
import math
import random
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pandas as pd
import pyarrow as pa

from cbnet import InputError, Message, parse
from cbnet.language.values import format_name, format_tag, format_value
from cbnet.matching import reference

REFUSED = "refused"
KEY = "n"  # the column with the number of the row
ROWS, RULES = 20, 20  # of each data set

INTS = [-128, -1, 0, 1, 2, 127]
LARGE_INTS = [0, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
FLOATS = [0.5, 1.0, -0.0, 0.1, 5e-324, 1e300, 2.0**53, 2.0**63, -1.5]
NUMBERS_AS_TEXT = [
    "1",
    "1.0",
    "01",
    "+1",
    " 1",
    "1e3",
    "NaN",
    "inf",
    "true",
    "False",
    "null",
    "NA",
    "None",
    "0x1F",
    "-",
]
TEXTS = [
    "", " ", "a", "A", "it's", 'say "hi"', '"', "a,b", ";", "a\tb", "line\nbreak", "cr\r\nlf", "\r", "nul\0", "\x7f\x01",
    "back\\slash", "\\n", "\\", "é", "e\u0301", "ß", "İ", "日本語", "🙂", "\U0010ffff", "\ufeffbom", "\u2028", "%", "_", "{}", "[1]",
    "# no tag", "`", "$1", "x" * 300,
]  # fmt: skip
NAMES = ["a b", "a.b", "é🙂", 'quo"te', "back`tick", "and", "a,b", "_line", "1st", "new\nline"]
EPOCH = datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC)


@dataclass(frozen=True)
class DataSet:
    """Rows in the JSON form, rules, and the types of columns; None: there is no type for the values of a column."""

    rows: list
    rules: dict
    types: dict | None

    def expected(self):
        """Return the rules of each row by brute force."""
        predicates = {name: parse(text) for name, text in self.rules.items()}
        return [self._answer(predicates, row) for row in self.rows]

    @staticmethod
    def _answer(predicates, row):
        try:
            return reference.match(predicates, Message.from_dict(row))
        except InputError:
            return REFUSED

    def arrow(self):
        """Return the rows as a table."""
        return pa.Table.from_pylist(self.rows, pa.schema([(KEY, pa.int64()), *self.types.items()]))

    def json_lines(self):
        """Return the rows as JSON Lines."""
        return "".join(f"{json_text(row)}\n" for row in self.rows).encode()

    def csv_types(self):
        """Return the types to state for CSV."""
        return {KEY: "int", **{name: _csv_type(type) for name, type in self.types.items()}}

    def csv(self):
        """Return the rows as CSV."""
        names = [KEY, *self.types]
        lines = [map(_quoted, names), *(map(_cell, map(row.get, names)) for row in self.rows)]
        return "".join(f"{','.join(line)}\n" for line in lines).encode()

    @property
    def is_flat(self):
        """Whether all columns have a type in CSV."""
        return self.types is not None and all(map(_csv_type, self.types.values()))


def data_sets(seed):
    """Return data sets of every kind, by name."""
    return {name: _data_set(random.Random(f"{seed} {name}"), name, *kind) for name, kind in _KINDS.items()}


def joined(sets):
    """Return data sets as one, with the columns and rules of all."""
    sets = [*sets]
    rows = [row for data in sets for row in data.rows]
    types = {name: type for data in sets for name, type in (data.types or {}).items()}
    return DataSet(
        [{**row, KEY: number} for number, row in enumerate(rows)],
        {name: text for data in sets for name, text in data.rules.items()},
        None if any(data.types is None for data in sets) else types,
    )


def json_text(value):
    """Return a value as JSON: times as the language has them, decimals with a point."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)}: {json_text(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(json_text, value))}]"
    if isinstance(value, Decimal) and value.as_tuple().exponent == 0:
        return str(value)
    return json.dumps(_plain(value) if isinstance(value, date | Decimal) else value)


def _plain(value):
    """Return a time or decimal as the value that it is in the language."""
    [plain] = Message({"value": value}).values("value")
    return plain


def _quoted(text):
    return '"' + text.replace('"', '""') + '"'


def _cell(value):
    if isinstance(value, str | date):
        return _quoted(value if isinstance(value, str) else _plain(value))
    return "" if value is None else json_text(value)


def _csv_type(type):
    if pa.types.is_nested(type):
        return None
    if pa.types.is_boolean(type):
        return "bool"
    if pa.types.is_integer(type) or (pa.types.is_decimal(type) and type.scale == 0):
        return "int"
    return "float" if pa.types.is_floating(type) or pa.types.is_decimal(type) else "string"


def _data_set(rng, kind, types, row):
    own = {name: name if name in ("#", *NAMES) else f"{kind.replace(' ', '_')}_{name}" for name in types or row(rng)}
    rows = []
    for number in range(ROWS):
        members = {own[name]: value for name, value in row(rng).items() if value is not None}
        rows.append({KEY: number, **members})
    rules = {f"{kind} {number}": text for number, text in enumerate(_rules(rng, rows))}
    return DataSet(rows, rules, types and {own[name]: type for name, type in types.items()})


def _rules(rng, rows):
    """Return random rules about the values of rows; every attribute is in one, so that it is read."""
    leaves, tags = {}, set()
    for row in rows:
        try:
            message = Message.from_dict(row)
        except InputError:
            message = Message(dict.fromkeys(row, 1))  # with a value that is refused
        tags |= message.tags
        for attribute in message.leaves:
            leaves.setdefault(attribute, []).extend(message.values(attribute))
    del leaves[KEY]
    names = sorted(leaves)
    yield from (f"exists {format_name(name)}" for name in names)
    yield from map(format_tag, sorted(tags))
    for _ in range(RULES):
        tests = [_test(rng, name := rng.choice(names), leaves[name]) for _ in range(rng.choice([1, 1, 2, 3]))]
        joined = rng.choice([" and ", " or "]).join(tests)
        yield f"not ({joined})" if rng.random() < 0.2 else joined


def _test(rng, name, values):
    """Return a test of an attribute with a constant near its values."""
    value, left = rng.choice(values), format_name(name)
    if isinstance(value, str):
        start, end = sorted((rng.randrange(len(value) + 1), rng.randrange(len(value) + 1)))
        op = rng.choice(["=", "!=", "<", ">=", "^=", "$=", "*="])
        part = {"^=": value[:end], "$=": value[start:], "*=": value[start:end]}.get(op, value)
        return rng.choice(
            [
                f"{left} {op} {format_value(part)}",
                f"length({left}) > {len(value) // 2}",
                f"lower({left}) = {format_value(part)}",
            ]
        )
    if isinstance(value, bool) or value is None:
        return f"{left} {rng.choice(['=', '!='])} {format_value(value)}"
    op = rng.choice(["=", "!=", "<", "<=", ">", ">="])
    near = rng.choice([value, value, math.nextafter(value, math.inf), int(value) if abs(value) < 2**62 else value])
    return rng.choice(
        [
            f"{left} {op} {format_value(near)}",
            f'{left} in ({format_value(value)}, {format_value(near)}, "1")',
            f"{left} * 2 {op} {format_value(near)}",
        ]
    )


def _some(choose, share=0.7):
    """Return a function of a random value or, sometimes, None."""
    return lambda rng: choose(rng) if rng.random() < share else None


def _one_of(values, share=0.7):
    return _some(lambda rng: rng.choice(values), share)


def _list_of(choose):
    return lambda rng: [choose(rng) for _ in range(rng.randrange(4))]


def _without_nulls(value):
    if isinstance(value, dict):
        return {name: _without_nulls(member) for name, member in value.items() if member is not None}
    return [_without_nulls(item) for item in value if item is not None] if isinstance(value, list) else value


def _rows(**columns):
    """Return the types of columns, and a function of a random row; a column is a type and a function of a value."""
    return (
        {name: type for name, (type, _) in columns.items()},
        lambda rng: {name: _without_nulls(choose(rng)) for name, (_, choose) in columns.items()},
    )


def _moment(rng):
    return EPOCH + rng.choice([timedelta(0), timedelta(seconds=1), timedelta(microseconds=1), timedelta(days=-40_000)])


def _wall(rng):
    return _moment(rng).replace(tzinfo=None)


def _nanoseconds(rng):
    return pd.Timestamp(_moment(rng)) + pd.Timedelta(rng.choice([0, 1, 999]), "ns")


def _object(*members):
    """Return the type of objects, and a function of a random one; members: name, type, function of a value."""
    type = pa.struct([(name, type) for name, type, _ in members])
    return type, lambda rng: {name: choose(rng) for name, _, choose in members}


_POINT = _object(("x", pa.int64(), _one_of(INTS)), ("s", pa.string(), _one_of(TEXTS)))
_NESTED = _object(("p", _POINT[0], _some(_POINT[1])), ("more", pa.list_(_POINT[0]), _some(_list_of(_POINT[1]))))
_MIXED = [1, 1.5, "1", "err", True, False, "", -1, 2**53 + 1, None]
_FORMS = [1, "a", {"x": 1}, {"x": "a", "y": {"z": 2}}, [1, "a"], [{"x": 1}, {"x": 2}, 3], [], {}, None, [[1], [2, "b"]]]
_KINDS = {
    "ints": _rows(a=(pa.int8(), _one_of(INTS)), b=(pa.int32(), _one_of(INTS)), c=(pa.uint16(), _one_of([0, 1, 65_535]))),
    "large ints": _rows(a=(pa.int64(), _one_of(LARGE_INTS)), b=(pa.int64(), _one_of(LARGE_INTS))),
    "ints beyond 64 bits": _rows(a=(pa.uint64(), _one_of([0, 1, 2**63 - 1, 2**63, 2**64 - 1])), b=(pa.int8(), _one_of(INTS))),
    "floats": _rows(a=(pa.float64(), _one_of(FLOATS)), b=(pa.float32(), _one_of([0.5, -0.0, 2.0**53, 1.5]))),
    "NaN and infinities": _rows(a=(pa.float64(), _one_of([1.0, math.nan, math.inf, -math.inf, 0.5])), b=(pa.int8(), _one_of(INTS))),
    "bools": _rows(a=(pa.bool_(), _one_of([True, False])), b=(pa.bool_(), _one_of([True], 0.2))),
    "texts": _rows(a=(pa.string(), _one_of(TEXTS, 0.9)), b=(pa.string(), _one_of(TEXTS))),
    "numbers as text": _rows(a=(pa.string(), _one_of(NUMBERS_AS_TEXT)), b=(pa.string(), _one_of(NUMBERS_AS_TEXT))),
    "nulls": _rows(a=(pa.int64(), _one_of(INTS, 0.15)), b=(pa.string(), _one_of(TEXTS, 0.15)), c=(pa.float64(), _one_of(FLOATS, 0.1)), d=(pa.bool_(), _one_of([True], 0.15))),
    "decimals": _rows(a=(pa.decimal128(12, 2), _one_of([*map(Decimal, ("0.10", "0.01", "-12.34", "5.00", "9999999999.99"))])), b=(pa.decimal128(9, 0), _one_of([Decimal(5), Decimal(-7)]))),
    "large decimals": _rows(a=(pa.decimal128(38, 1), _one_of([*map(Decimal, ("9223372036854775807.0", "9223372036854775808.0", "9007199254740993.0", "-1.5", "1" * 36 + ".1"))])), items=(pa.list_(pa.decimal128(20, 1)), _list_of(_one_of([Decimal("0.5"), Decimal("9007199254740993.0")])))),
    "decimals beyond 64 bits": _rows(a=(pa.decimal128(38, 0), _one_of([Decimal(5), Decimal(2**63 - 1), Decimal(2**63)]))),
    "timestamps": _rows(a=(pa.timestamp("us", "UTC"), _some(_moment)), b=(pa.timestamp("us"), _some(_wall))),
    "nanoseconds": _rows(a=(pa.timestamp("ns", "UTC"), _some(_nanoseconds)), b=(pa.timestamp("ms"), _some(lambda rng: _wall(rng).replace(microsecond=5000)))),
    "dates": _rows(a=(pa.date32(), _one_of([date(1, 1, 1), date(2026, 2, 28), date(9999, 12, 31)])), b=(pa.date32(), _one_of([date(2026, 3, 1)]))),
    "objects": _rows(o=(_NESTED[0], _some(_NESTED[1])), a=(pa.int8(), _one_of(INTS))),
    "arrays": _rows(a=(pa.list_(pa.int64()), _some(_list_of(_one_of(LARGE_INTS)))), b=(pa.list_(pa.list_(pa.string())), _some(_list_of(_list_of(_one_of(TEXTS)))))),
    "arrays of objects": _rows(items=(pa.list_(_NESTED[0]), _some(_list_of(_some(_NESTED[1])))), a=(pa.bool_(), _one_of([True, False]))),
    "tags": _rows(**{"#": (pa.list_(pa.string()), _some(_list_of(_one_of(TEXTS)))), "a": (pa.int8(), _one_of(INTS))}),
    "maps": _rows(m=(pa.map_(pa.string(), pa.float64()), _some(lambda rng: {key: rng.choice(FLOATS) for key in rng.sample(["x", "y z", "é"], 2)}))),
    "names": _rows(**{name: (pa.string(), _one_of(["a", "b", ""])) for name in NAMES}),
    "mixed types": (None, lambda rng: {"a": rng.choice(_MIXED), "b": rng.choice(_MIXED), "c": rng.choice(INTS)}),
    "mixed forms": (None, lambda rng: {"a": rng.choice(_FORMS), "b": rng.choice(_FORMS)}),
    "surrogates": (None, lambda rng: {"a": rng.choice(["ok", "\ud800", "a\udc00b", "🙂"])}),
}  # fmt: skip
