"""Event patterns of Amazon EventBridge.

    {"source": ["aws.ec2"], "detail": {"state": [{"anything-but": "stopped"}, {"exists": false}]}}

A pattern is a conjunction of fields, and a field's list a disjunction of values and matchers. `$or` is a disjunction of
patterns for fields of one level.

    ["a", "b", {"prefix": "c"}]                f in ("a", "b") or f ^= "c"
    [{"equals-ignore-case": "Abc"}]            lower(f) = "abc"
    [{"anything-but": {"wildcard": "a*b"}}]    exists f and (f like "a%b") is not true

The plain values of a list are one set, never a disjunction. `anything-but` holds of every value, of any type, that its
matcher does not hold of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Any, TypeAlias

from cbnet.errors import PatternError
from cbnet.language.address_block import block_of, block_text
from cbnet.language.condition import AddressTest, Comparison, Like, Membership, Presence
from cbnet.language.constraint import Op, value_set
from cbnet.language.dialects import Path, checked, translate_json
from cbnet.language.expression import Attribute, Call, Constant, Expression, change_case
from cbnet.language.formula import NOT_TRUE, AllOf, AnyOf, Formula, Is, Not
from cbnet.language.like_pattern import escape_pattern, validate_pattern
from cbnet.language.message import MAX_DEPTH
from cbnet.language.values import Value, type_name, validate_name, validate_value

_OR = "$or"
_COMPARISONS = {"=": Op.EQ, "<": Op.LT, "<=": Op.LE, ">": Op.GT, ">=": Op.GE}
_NUMERIC_HINT = 'write ["=", 5], ["<", 5] or [">", 0, "<=", 5]'
_IGNORE_CASE = "equals-ignore-case"
_Matcher: TypeAlias = Callable[[str, object, Path], Formula]


def formula(source: str | Mapping[str, Any]) -> Formula:
    """Return the formula of an event pattern, given as JSON text or as an object."""
    return translate_json(source, lambda pattern: _pattern(pattern, "", ()))


def _pattern(pattern: object, prefix: str, path: Path) -> Formula:
    """Return the conjunction of the fields of an object; `prefix` stands before their names."""
    if not isinstance(pattern, Mapping):
        raise PatternError(f"expected an object, not {type_name(pattern)}", path, hint='write {"field": ["value"]}')
    if not pattern:
        hint = 'write {"field": [{"exists": true}]} for a field with any value'
        raise PatternError("the object is empty", path, hint=hint)
    if len(path) >= MAX_DEPTH:
        raise PatternError(f"nested deeper than {MAX_DEPTH} levels", path[:3], hint="no message has such a field")
    return all_of([_member(prefix, key, value, (*path, key)) for key, value in pattern.items()])


def _member(prefix: str, key: object, value: object, path: Path) -> Formula:
    if not isinstance(key, str):
        raise PatternError(f"the name {key!r} is not a string", path[:-1], hint="use string keys")
    if key == _OR:
        return _disjunction(prefix, value, path)
    name = checked(path, validate_name, prefix + key)
    if isinstance(value, Mapping):
        return _pattern(value, f"{name}.", path)
    if not isinstance(value, list):
        raise PatternError("the values of a field must be in a list", path, hint="write [ ] around the value")
    if not value:
        hint = 'write [{"exists": false}] for a field that is absent'
        raise PatternError("the list of values is empty", path, hint=hint)
    return alternatives(name, value, path)


def _disjunction(prefix: str, value: object, path: Path) -> Formula:
    if not isinstance(value, list) or len(value) < 2:
        hint = 'write {"$or": [{"a": ["x"]}, {"b": ["y"]}]}'
        raise PatternError("`$or` must be a list of two or more objects", path, hint=hint)
    return AnyOf(tuple(_pattern(each, prefix, (*path, index)) for index, each in enumerate(value)))


def alternatives(name: str, members: list[Any], path: Path) -> Formula:
    """Return the disjunction of the values and matchers of a field."""
    return _any_of(_alternative(name, member, (*path, index)) for index, member in enumerate(members))


def _alternative(name: str, member: object, path: Path) -> Formula:
    if not isinstance(member, Mapping):
        return Membership(Attribute(name), (checked(path, validate_value, member, "value"),))
    key, operand = _only_member(member, path)
    if key not in _MATCHERS:
        near = get_close_matches(str(key), _MATCHERS, n=1)
        hint = f"write {near[0]}" if near else "the matchers are " + ", ".join(_MATCHERS)
        raise PatternError(f"unknown matcher `{key}`", path, hint=hint)
    return _MATCHERS[key](name, operand, (*path, key))


def _only_member(matcher: Mapping[str, Any], path: Path) -> tuple[str, Any]:
    if len(matcher) != 1:
        raise PatternError(f"a matcher must have one key, not {len(matcher)}", path, hint='write {"prefix": "a"}')
    return next(iter(matcher.items()))


# --- strings ---------------------------------------------------------------------------------


def _part(op: Op, name: str, operand: object, path: Path) -> Formula:
    """Return a test of a prefix or suffix, whose case may be ignored."""
    if not isinstance(operand, Mapping):
        return Comparison(op, Attribute(name), Constant(_string(operand, path)))
    key, text = _only_member(operand, path)
    if key != _IGNORE_CASE:
        raise PatternError(f"unknown matcher `{key}`", path, hint=f'write a string, or {{"{_IGNORE_CASE}": "a"}}')
    return Comparison(op, Call("lower", Attribute(name)), Constant(_lower_string(text, (*path, key))))


def _wildcard(name: str, operand: object, path: Path) -> Formula:
    r"""Return the test of a pattern, in which `*` is any run of characters, `\*` an asterisk and `\\` a backslash."""
    characters = iter(_string(operand, path))
    parts: list[str] = []
    for char in characters:
        if char == "\\":
            escaped = next(characters, "")
            if escaped not in ("*", "\\"):
                hint = "write `\\*` for an asterisk, `\\\\` for a backslash"
                raise PatternError(f"unknown escape `\\{escaped}`", path, hint=hint)
            parts.append(escape_pattern(escaped))
        else:
            parts.append("%" if char == "*" else escape_pattern(char))
            if parts[-2:] == ["%", "%"]:
                raise PatternError("two wildcards in succession", path, hint="write one `*`")
    return Like(Attribute(name), checked(path, validate_pattern, "".join(parts)))


def _lower_string(value: object, path: Path) -> str:
    return change_case("lower", _string(value, path))


def _string(value: object, path: Path) -> str:
    if not isinstance(value, str):
        raise PatternError(f"expected a string, not {type_name(value)}", path, hint='write "…"')
    return str(checked(path, validate_value, value, "value"))


# --- numbers ---------------------------------------------------------------------------------


def _numeric(name: str, operand: object, path: Path) -> Formula:
    """Return the test of a list of operators and numbers: `=`, or one or two bounds, the lower one first."""
    if not isinstance(operand, list) or len(operand) not in (2, 4):
        raise PatternError("expected a list of operators and numbers", path, hint=_NUMERIC_HINT)
    for index in range(0, len(operand), 2):
        if not isinstance(operand[index], str) or operand[index] not in _COMPARISONS:
            hint = "use one of " + " ".join(_COMPARISONS)
            raise PatternError("expected an operator", (*path, index), hint=hint)
    ops = [_COMPARISONS[each] for each in operand[::2]]
    bounds = [_number(operand[index], (*path, index)) for index in range(1, len(operand), 2)]
    if ops == [Op.EQ]:
        return Membership(Attribute(name), (bounds[0],))
    if len(ops) == 2:
        _check_range(ops, bounds, path)
    return all_of([Comparison(op, Attribute(name), Constant(bound)) for op, bound in zip(ops, bounds, strict=True)])


def _check_range(ops: list[Op], bounds: list[int | float], path: Path) -> None:
    if ops[0] not in (Op.GT, Op.GE) or ops[1] not in (Op.LT, Op.LE):
        raise PatternError("a range needs a lower bound and then an upper bound", path, hint=_NUMERIC_HINT)
    if bounds[0] >= bounds[1]:
        hint = 'write ["=", 5] for one number'
        raise PatternError("the lower bound is not below the upper bound", path, hint=hint)


def _number(value: object, path: Path) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PatternError(f"expected a number, not {type_name(value)}", path, hint="write it without quotes")
    checked(path, validate_value, value, "number")
    return value


# --- presence and negation -------------------------------------------------------------------


def _exists(name: str, operand: object, path: Path) -> Formula:
    if not isinstance(operand, bool):
        raise PatternError(f"expected true or false, not {type_name(operand)}", path, hint='write {"exists": true}')
    return Presence(name) if operand else Not(Presence(name))


def _anything_but(name: str, operand: object, path: Path) -> Formula:
    """Return the test that the field has a value that a matcher, or a list of values, does not hold of."""
    if isinstance(operand, Mapping):
        key, operand = _only_member(operand, path)
        if key not in _EXCLUDABLE:
            hint = "use a string, a number, a list of them, or " + ", ".join(_EXCLUDABLE)
            raise PatternError(f"`anything-but` does not take `{key}`", path, hint=hint)
        excluded = []
        for each, place in _listed(operand, (*path, key)):
            if _string(each, place) == "" and key in ("prefix", "suffix"):
                raise PatternError(f"an empty {key} excludes every string", place, hint="write a text")
            excluded.append(_EXCLUDABLE[key](name, each, place))
    else:
        values = [_excluded_value(each, place) for each, place in _listed(operand, path)]
        if len({isinstance(value, str) for value in values}) > 1:
            raise PatternError("strings and numbers in one list", path, hint="write only strings, or only numbers")
        excluded = [Membership(Attribute(name), (value,)) for value in values]
    return AllOf((Presence(name), Is(_any_of(excluded), NOT_TRUE)))


def _excluded_value(value: object, path: Path) -> Value:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        hint = "write a string, a number, a list of them, or an object with one matcher"
        raise PatternError(f"`anything-but` does not take {type_name(value)}", path, hint=hint)
    return checked(path, validate_value, value, "value")


def _listed(operand: object, path: Path) -> list[tuple[object, Path]]:
    """Return the members of a list, or one operand without its list, each with its path."""
    if not isinstance(operand, list):
        return [(operand, path)]
    if not operand:
        raise PatternError("the list is empty", path, hint="write a value in it")
    return [(each, (*path, index)) for index, each in enumerate(operand)]


_EXCLUDABLE: dict[str, _Matcher] = {
    "prefix": partial(_part, Op.PREFIX),
    "suffix": partial(_part, Op.SUFFIX),
    _IGNORE_CASE: lambda name, text, path: Membership(Call("lower", Attribute(name)), (_lower_string(text, path),)),
    "wildcard": _wildcard,
}
_MATCHERS: dict[str, _Matcher] = {
    **_EXCLUDABLE,
    "exactly": lambda name, text, path: Membership(Attribute(name), (_string(text, path),)),
    "anything-but": _anything_but,
    "numeric": _numeric,
    "exists": _exists,
    "cidr": lambda name, block, path: AddressTest(
        Attribute(name), block_text(checked(path, block_of, _string(block, path)))
    ),
}


# --- formulas and checks ---------------------------------------------------------------------


def all_of(parts: list[Formula]) -> Formula:
    """Return a conjunction."""
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def _any_of(parts: Iterable[Formula]) -> Formula:
    """Return a disjunction; the sets of values of one expression become one set."""
    sets: dict[Expression, list[Value]] = {}
    others: list[Formula] = []
    for part in parts:
        if isinstance(part, Membership):
            sets.setdefault(part.operand, []).extend(part.values)
        else:
            others.append(part)
    merged = [Membership(operand, value_set(values, str(operand))) for operand, values in sets.items()]
    joined = (*merged, *others)
    return joined[0] if len(joined) == 1 else AnyOf(joined)
