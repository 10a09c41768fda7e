"""Event patterns of Amazon EventBridge.

    {"source": ["aws.ec2"], "detail": {"state": [{"anything-but": "stopped"}, {"exists": false}]}}

A pattern is a conjunction of fields, and a field's list a disjunction of values and matchers. `$or` is a disjunction of
patterns for fields of one level.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cbnet.errors import PatternError
from cbnet.language.dialects.eventbridge_matchers import Path, all_of, alternatives, checked
from cbnet.language.dialects.json_source import translate_json
from cbnet.language.formula import AnyOf, Formula
from cbnet.language.leaves import MAX_DEPTH
from cbnet.language.values import type_name, validate_name

_OR = "$or"


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
