"""Rules: what users attach to a predicate, and get back with a match.

The table keeps the predicate itself: `table[rule.name]`. In a forwarding table a rule is an interface.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from cbnet.errors import InputError, ValueDomainError
from cbnet.language.values import INT_MAX, INT_MIN, validate_text, validate_value

RuleName: TypeAlias = str | int
_MAX_DEPTH = 64  # levels of metadata


@dataclass(frozen=True)
class Rule:
    """The name, priority and metadata of a rule.

    priority: a 64-bit int; 10 comes before 1.
    metadata: any JSON object.
    """

    name: RuleName
    priority: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        checked_name(self.name)
        if type(self.priority) is not int or not INT_MIN <= self.priority <= INT_MAX:
            raise InputError("the priority must be a 64-bit int", hint="use a whole number such as 10")
        if not isinstance(self.metadata, Mapping):
            raise InputError("the metadata must be a JSON object", hint="use an object with members such as `owner`")
        object.__setattr__(self, "metadata", _json_copy(self.metadata, "metadata", 0))


def checked_name(name: object) -> RuleName:
    """Return the name of a rule if it is a string or a 64-bit int; raise ValueDomainError otherwise."""
    if isinstance(name, str):
        return validate_text(name, "name of a rule")
    if isinstance(name, int) and not isinstance(name, bool) and INT_MIN <= name <= INT_MAX:
        return name
    text = json.dumps(name, default=repr)
    raise ValueDomainError(f"{text} cannot be the name of a rule", hint="use a string or a 64-bit int")


def _json_copy(value: object, where: str, depth: int) -> Any:
    """Return a copy of a JSON value; raise an error that names the first member that JSON cannot express."""
    if depth > _MAX_DEPTH:
        raise InputError(f"{where}: nested deeper than {_MAX_DEPTH} levels", hint="store it as text")
    if isinstance(value, Mapping):
        return {_key(key, where): _json_copy(member, f"{where}.{key}", depth + 1) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_json_copy(member, f"{where}[{index}]", depth + 1) for index, member in enumerate(value)]
    return validate_value(value, where)


def _key(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise InputError(f"{where}: the key {key!r} is not a string", hint="write it in quotes")
    return validate_text(key, f"{where}: key")
