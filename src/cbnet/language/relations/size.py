"""Size of predicates, and the advantage of reducing several together."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from cbnet.errors import InputError
from cbnet.language.predicate import Predicate
from cbnet.language.relations.covering import PredicateLike, as_predicate
from cbnet.language.relations.reduction import Rules, reduce


def size(predicate: PredicateLike) -> int:
    """Return the number of constraints in all filters; a tag or a condition counts 1 [2006 §4.2]."""
    filters = as_predicate(predicate).filters
    return sum(len(filter.constraints) + len(filter.tags) + len(filter.conditions) for filter in filters)


def disjunction_advantage(predicates: Iterable[PredicateLike], rules: Rules = "full") -> float:
    """Return α [2006 §2.4]: the size of the reduced disjunction over the sum of the original sizes.

    It is 1 if the original sizes are 0.
    """
    if isinstance(predicates, str):
        raise InputError("expected a list of predicates", hint="put the text in a list")
    originals = [as_predicate(predicate) for predicate in predicates]
    together = Predicate(chain.from_iterable(original.filters for original in originals))
    total = sum(map(size, originals))
    return size(reduce(together, rules)) / total if total else 1.0
