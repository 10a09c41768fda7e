"""The rule section of a table: priorities and metadata, as JSON.

    rule_details   uint8[…]   [[target, priority, metadata], …]   by target, only of rules that have either

A table without priorities and metadata has no such section.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cbnet.errors import InputError, TableFileError, UnknownInterfaceError
from cbnet.matching.rule import Interface, Rule

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Array

_SECTION = "rule_details"


def rules_to_arrays(rules: Iterable[Rule], interfaces: Sequence[Interface]) -> dict[str, Array]:
    """Return the section of some rules; each must be named by an interface of the table."""
    detailed = {rule.name: rule for rule in rules if rule.priority or rule.metadata}
    if not detailed:
        return {}
    rows = []
    for target, interface in enumerate(interfaces):
        if (rule := detailed.pop(interface, None)) is not None:
            rows.append([target, rule.priority, rule.metadata])
    for unknown in detailed:
        raise UnknownInterfaceError(f"the rule {unknown!r} has no predicate", hint="add one, or remove the rule")
    data = json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()
    return {_SECTION: np.frombuffer(data, np.uint8)}


def rules_from_arrays(arrays: dict[str, Array], interfaces: Sequence[Interface]) -> dict[Interface, Rule]:
    """Return the rules of the section by name; empty if there is none."""
    if _SECTION not in arrays:
        return {}
    try:
        rows = json.loads(bytes(arrays[_SECTION]))
        rules = [Rule(interfaces[_target(row[0])], row[1], row[2]) for row in rows]
    except (ValueError, TypeError, LookupError, RecursionError, InputError):
        raise TableFileError("the file is damaged: its rules are incomplete", hint="compile the table again") from None
    return {rule.name: rule for rule in rules}


def _target(target: object) -> int:
    if not isinstance(target, int) or target < 0:
        raise TypeError
    return target
