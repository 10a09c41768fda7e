"""The order of the rules that match a message: highest priority first, then table order.

Engines return rules in table order. A table without priorities has no `PriorityOrder`: it
pays nothing for the order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from cbnet.matching.rule import Rule, RuleName

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Array

Name = TypeVar("Name", bound=RuleName)


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
