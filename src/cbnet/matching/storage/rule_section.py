"""The rules of a table as arrays: their names, priorities and metadata, and the order of the rules that match.

label_ints     int64[…]   the names that are ints, in their order
label_data,    the names that are strings, in their order
label_offsets
label_is_text  uint8[n]   whether each name is a string; empty if all names are of one type
rule_details   uint8[…]   JSON: [[target, priority, metadata], …], by target, only of rules that have either

Engines return rules in table order; users get the highest priority first, then table order. A table without priorities
and metadata has no section `rule_details` and no `PriorityOrder`: it pays nothing for them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

from cbnet.errors import InputError, TableFileError, UnknownRuleError
from cbnet.matching.rule import Rule, RuleName
from cbnet.matching.storage.columns import Array, Texts, texts

RULE_SECTION = "rule_details"
Name = TypeVar("Name", bound=RuleName)


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


def labels_to_arrays(labels: Sequence[str | int]) -> dict[str, Array]:
    """Return labels as arrays."""
    strings = [label for label in labels if isinstance(label, str)]
    ints = np.array([label for label in labels if not isinstance(label, str)], np.int64)
    is_mixed = len(strings) > 0 and len(ints) > 0
    is_text = np.array([isinstance(label, str) for label in labels] if is_mixed else [], np.uint8)
    packed = texts(strings)
    return {
        "label_ints": ints,
        "label_data": packed.data,
        "label_offsets": packed.offsets,
        "label_is_text": is_text,
    }


def labels_from_arrays(arrays: dict[str, Array]) -> list[str | int]:
    """Return the labels stored in arrays."""
    strings = Texts(arrays["label_data"], arrays["label_offsets"])
    ints = arrays["label_ints"].tolist()
    named = [strings[index] for index in range(len(strings))]
    if not len(arrays["label_is_text"]):
        return [*named, *ints]
    next_string, next_int = iter(named), iter(ints)
    return [next(next_string) if is_text else next(next_int) for is_text in arrays["label_is_text"]]


class PriorityOrder:
    """The priorities of the rules of a table."""

    def __init__(self, priorities: dict[RuleName, int], names: Sequence[RuleName]) -> None:
        self._priorities = priorities
        self._by_target = np.array([priorities.get(name, 0) for name in names], np.int64)

    @classmethod
    def of(cls, rules: Iterable[Rule], names: Sequence[RuleName]) -> PriorityOrder | None:
        """Return the order of rules; None if none has a priority. names: of all rules, by target."""
        priorities = {rule.name: rule.priority for rule in rules if rule.priority}
        return cls(priorities, names) if priorities else None

    def sorted_names(self, names: list[Name]) -> list[Name]:
        """Return the names of rules in order; they are given in table order."""
        priorities = self._priorities
        return sorted(names, key=lambda name: -priorities.get(name, 0)) if len(names) > 1 else names

    def sorted_targets(self, offsets: Array, targets: Array) -> Array:
        """Return targets[offsets[i]:offsets[i + 1]] in order, for each message i; they are given in table order."""
        owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        return targets[sorted_by_priority(owner, self.priorities(targets))]

    def priorities(self, targets: Array) -> Array:
        """Return the priority of each target: int64."""
        return self._by_target[targets]


def sorted_by_priority(owner: Array, priorities: Array, *then: Array) -> Array:
    """Return the indexes of matches by message, by priority, highest first, by other keys, then as they are."""
    return np.lexsort((*then[::-1], ~priorities, owner))  # not -priorities: the smallest int64 has no opposite
