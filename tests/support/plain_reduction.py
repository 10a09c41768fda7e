"""Reduction by comparing every pair of filters: the specification of `reduce`, its index and its kernel."""

from cbnet.language import Filter, Predicate
from cbnet.language.relations.covering import FilterAnalysis, outcome_constraint
from cbnet.language.relations.ranges import AttributeRange, by_name


def plain_reduce(predicate, rules="full"):
    filters = [reduced for filter in predicate for reduced in plain_filter(filter, rules)]
    covers = covers_together if rules == "full" else covers_one_by_one
    sizes = [len(filter.constraints) + len(filter.tags) + len(filter.conditions) for filter in filters]
    order = sorted(range(len(filters)), key=sizes.__getitem__)
    needed = plain_needed(order, lambda wide, narrow: covers(filters[wide], filters[narrow]))
    return Predicate(filters[index] for index in sorted(needed))


def plain_needed(order, covers):
    """Return the filters that no other one covers; of those that cover each other, the first in order."""
    kept = list(order)
    for wide in order:
        if wide in kept:
            kept = [narrow for narrow in kept if narrow == wide or not covers(wide, narrow)]
    return set(kept)


def covers_together(wide, narrow):
    return FilterAnalysis(narrow).implies(wide)


def covers_one_by_one(wide, narrow):
    return (
        wide.tags <= narrow.tags
        and _one_by_one(wide.constraints, narrow.constraints)
        and _one_by_one(map(outcome_constraint, wide.conditions), [*map(outcome_constraint, narrow.conditions)])
    )


def _one_by_one(wide, narrow):
    return all(
        any(implies_alone(other, required) for other in narrow if other.name == required.name) for required in wide
    )


def implies_alone(narrow, wide):
    alone = AttributeRange([narrow])
    return alone.is_empty or alone.implies(wide)


def plain_filter(filter, rules):
    """Yield the filter without the constraints that others on the same attribute imply; nothing if it is empty."""
    if rules == "full" and not FilterAnalysis(filter).is_satisfiable:
        return
    constraints = kept_constraints(filter.constraints, rules)
    outcomes = kept_constraints(map(outcome_constraint, filter.conditions), rules)
    yield Filter(
        [constraint for constraint in filter.constraints if constraint in constraints],
        filter.tags,
        [condition for condition in filter.conditions if outcome_constraint(condition) in outcomes],
    )


def kept_constraints(constraints, rules):
    """Return constraints without those that others on the same attribute imply."""
    kept = []
    for group in by_name(constraints).values():
        for constraint in list(group):
            others = [other for other in group if other is not constraint]
            if any(implies_alone(other, constraint) for other in others):
                group = others
        for constraint in list(group) if rules == "full" else ():
            others = [other for other in group if other is not constraint]
            if others and AttributeRange(others).implies(constraint):
                group = others
        kept += group
    return kept
