"""Summaries: what does a gateway tell its domain about the outside? A predicate that covers what is wanted there.

A wider predicate is smaller, and lets messages come to the gateway in vain; what goes over the border is always
matched with the predicates themselves.

| summary | of `x > 3 and #a or y = 1 and x = 2`  | messages that come to a gateway                   |
|---------|---------------------------------------|---------------------------------------------------|
| exact   | the same                              | those that are wanted outside                     |
| names   | `exists x and #a or exists x and exists y` | those with all names and tags of a filter outside |
| all     | `true`                                | all, if anything is wanted outside                |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from cbnet.errors import InputError
from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate

Summary: TypeAlias = Callable[[Predicate], Predicate]


def _exact(predicate: Predicate) -> Predicate:
    return predicate


def _names(predicate: Predicate) -> Predicate:
    """Return the predicate with every constraint widened to the existence of its attribute."""
    return Predicate(
        Filter([Constraint(name, Op.EXISTS, None) for name in sorted({each.name for each in filter.constraints})],
               filter.tags)
        for filter in predicate.filters
    )  # fmt: skip


def _all(predicate: Predicate) -> Predicate:
    """Return `true`, or the empty predicate if it is that."""
    return Predicate([Filter()] if predicate.filters else [])


_SUMMARIES: dict[str, Summary] = {"exact": _exact, "names": _names, "all": _all}
SUMMARIES = tuple(_SUMMARIES)


def summary(name: str) -> Summary:
    """Return a summary by its name."""
    if name not in _SUMMARIES:
        raise InputError(f"unknown summary {name!r}", hint="use one of " + ", ".join(SUMMARIES))
    return _SUMMARIES[name]
