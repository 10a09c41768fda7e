"""Messages with one part that is not a value, or is one only in Python, and the answer that every path must give."""

import datetime
import decimal

from cbnet.language import Message
from cbnet.language.computed import plain_paths
from cbnet.matching import reference

REFUSED = "refused"
INVALID = (
    float("nan"), float("inf"), 2**70, b"x", frozenset({1}), "\ud800", datetime.timedelta(1), decimal.Decimal("NaN"),
)  # fmt: skip
CONVERTED = (
    datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3), decimal.Decimal(2), decimal.Decimal("0.5"), (1, "a"),
    ({"x": 1}, {"x": 2}),
)  # fmt: skip


def used_names(rules):
    """Return the attributes that the filters of a table name."""
    names = {name for predicate in rules.values() for filter in predicate.filters for name in filter.used_names}
    return names.union(*map(plain_paths, names))


def insert_value(source, members, value, path=""):
    """Put a value somewhere into members, in place; return the name of its attribute."""
    if isinstance(members, list):
        if members and isinstance(members[-1], dict | list) and source.random() < 0.6:
            return insert_value(source, members[-1], value, path)
        members.append(value)
        return path
    keys = [key for key in members if path or key != "#"] or ["x"]
    key = source.choice(keys) if source.random() < 0.7 else source.choice(("x", "s", "other"))
    name = f"{path}.{key}" if path else key
    if isinstance(members.get(key), dict | list) and source.random() < 0.8:
        return insert_value(source, members[key], value, name)
    members[key] = value
    return name


def expected_answer(rules, members, value, name):
    """Return the rules, or REFUSED: an invalid value counts only if a filter uses its attribute."""
    if not any(value is other for other in INVALID):
        return reference.match(rules, Message.of(members))
    return REFUSED if name in used_names(rules) else reference.match(rules, Message.of(_without(members, value)))


def _without(members, value):
    if isinstance(members, dict):
        return {key: _without(member, value) for key, member in members.items() if member is not value}
    if isinstance(members, list):
        return [_without(item, value) for item in members if item is not value]
    return members
