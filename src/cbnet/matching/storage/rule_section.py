"""The rule section of a table: priorities and metadata, as JSON.

    rule_details   uint8[…]   [[target, priority, metadata], …]   by target, only of rules that have either

A table without priorities and metadata has no such section.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cbnet.errors import InputError, TableFileError, UnknownRuleError
from cbnet.matching.rule import Rule, RuleName

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Array

RULE_SECTION = "rule_details"


def rules_to_arrays(rules: Iterable[Rule], names: Sequence[RuleName]) -> dict[str, Array]:
    """Return the section of some rules; names: of the rules that have a predicate, by target."""
    detailed = {rule.name: rule for rule in rules if rule.priority or rule.metadata}
    if not detailed:
        return {}
    rows = []
    for target, name in enumerate(names):
        if (rule := detailed.pop(name, None)) is not None:
            rows.append([target, rule.priority, rule.metadata])
    for unknown in detailed:
        raise UnknownRuleError(f"the rule {unknown!r} has no predicate", hint="add one, or remove the rule")
    data = json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()
    return {RULE_SECTION: np.frombuffer(data, np.uint8)}


def rules_from_arrays(arrays: dict[str, Array], names: Sequence[RuleName]) -> dict[RuleName, Rule]:
    """Return the rules of the section by name."""
    try:
        rows = json.loads(bytes(arrays[RULE_SECTION]))
        rules = [Rule(names[_target(row[0])], row[1], row[2]) for row in rows]
    except (ValueError, TypeError, LookupError, RecursionError, InputError):
        raise TableFileError("the file is damaged: its rules are incomplete", hint="compile the table again") from None
    return {rule.name: rule for rule in rules}


def _target(target: object) -> int:
    if not isinstance(target, int) or target < 0:
        raise TypeError
    return target
