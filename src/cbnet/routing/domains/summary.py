"""Summaries of the predicates outside a domain: wider predicates that gateways announce inside.

A wider predicate is smaller, but lets more spurious messages reach the gateway, which always matches the predicates
themselves before it forwards to another domain.

| summary | of `x > 3 and #a or y = 1 and x = 2`  | messages that reach a gateway                     |
|---------|---------------------------------------|---------------------------------------------------|
| exact   | the same                              | those that match outside                          |
| names   | `exists x and #a or exists x and exists y` | those with all names and tags of a filter outside |
| all     | `true`                                | all, if there are predicates outside              |
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
    """Return `true`, or the empty predicate unchanged."""
    return Predicate([Filter()] if predicate.filters else [])


_SUMMARIES: dict[str, Summary] = {"exact": _exact, "names": _names, "all": _all}
SUMMARIES = tuple(_SUMMARIES)


def summary(name: str) -> Summary:
    """Return a summary by name."""
    if name not in _SUMMARIES:
        raise InputError(f"unknown summary {name!r}", hint="use one of " + ", ".join(SUMMARIES))
    return _SUMMARIES[name]
