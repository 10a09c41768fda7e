"""Filters: conjunctions of constraints, tags and conditions; descriptors: filters of tags only.

A message matches a filter if some *binding* satisfies all constraints and conditions: one value for each attribute that
the filter names and the message has. The bound values must be compatible: no two lie in different elements of one
array. An attribute that the message lacks is unbound.

The attributes with the fewest possible values are bound first. The search examines at most `MAX_EXAMINED` values, then
it is undecided whether the message matches: that takes hundreds of possible values of several attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cbnet.language.condition import Condition, Presence, RegexTest, TagTest
from cbnet.language.constraint import Constraint, Op
from cbnet.language.message import Leaf, Message
from cbnet.language.search_budget import MAX_EXAMINED, SearchBudget
from cbnet.language.value_object import ValueObject, validate_members
from cbnet.language.values import Value, format_tag, validate_tags

if TYPE_CHECKING:
    from cbnet.language.predicate import Predicate

STEPS = 200  # of patterns that take as long as to examine a combination of values in Python


class Filter(ValueObject):
    """An immutable conjunction of constraints, required tags and conditions.

    A filter may hold several constraints on one attribute; equal ones are merged. Constraints that the conditions
    imply are added, for indexes and covering, and not printed. The order is kept for printing and ignored by
    equality. The empty filter, written `true`, matches every message.
    """

    __slots__ = ("conditions", "constraints", "tags")
    _family = "filter"
    constraints: tuple[Constraint, ...]
    tags: frozenset[str]
    conditions: tuple[Condition, ...]

    def __init__(
        self,
        constraints: Iterable[Constraint] = (),
        tags: Iterable[str] = (),
        conditions: Iterable[Condition] = (),
    ) -> None:
        merged = dict.fromkeys(validate_members(constraints, Constraint))
        tests = tuple(dict.fromkeys(validate_members(conditions, Condition)))
        self._set(constraints=_with_implied(merged, tests), tags=validate_tags(tags), conditions=tests)

    @classmethod
    def of_tags(cls, tags: frozenset[str]) -> Filter:
        """Return a descriptor of tags that are known to be valid, in a fifth of the time."""
        descriptor = cls.__new__(cls)
        descriptor._set(constraints=(), tags=tags, conditions=())
        return descriptor

    def matches(self, message: Message | Mapping[str, Any]) -> bool:
        """Return whether one binding of the message satisfies every constraint and condition, and it has every tag."""
        message = Message.of(message)
        if not self.tags <= message.tags:
            return False
        is_simple = not self.conditions
        for constraint in self.constraints:
            found = message.leaves_of(constraint.name)
            if not found:
                return False
            if len(found) == 1 and not found[0].element:
                if not constraint.accepts(found[0].value):
                    return False
            else:
                is_simple = False
        return is_simple or self._has_binding(message)

    def _has_binding(self, message: Message) -> bool:
        """Return whether one binding satisfies every constraint and condition."""
        candidates = {name: message.leaves_of(name) for name in self.names}
        for constraint in self.constraints:
            accepted = tuple(leaf for leaf in candidates[constraint.name] if constraint.accepts(leaf.value))
            if not accepted:
                return False
            candidates[constraint.name] = accepted

        effort = self.effort(message) - 1

        def test(values: Mapping[str, Value]) -> bool:
            if effort and message.budget is not None:
                message.budget.spend(effort)
            return all(condition.holds(values, message, message.tags) for condition in self.conditions)

        return binding_exists(candidates, test, message.budget)

    def effort(self, message: Message) -> int:
        """Return how long the patterns take for one combination of the values of a message; 1: there are none."""
        steps = sum(each.test.steps for each in self.conditions if isinstance(each.test, RegexTest))
        if not steps:
            return 1
        found = [message.leaves.get(name, ()) for name in self.names]
        texts = (
            max((len(leaf.value) for leaf in leaves if isinstance(leaf.value, str)), default=0) for leaves in found
        )
        return 1 + steps * sum(texts) // STEPS

    def __and__(self, other: object) -> Filter:
        """Return the filter that matches the messages that both match with one binding."""
        if not isinstance(other, Filter):
            return NotImplemented
        return Filter(self.constraints + other.constraints, self.tags | other.tags, self.conditions + other.conditions)

    def __or__(self, other: object) -> Predicate:
        """Return the predicate that matches the messages that either matches."""
        from cbnet.language.predicate import Predicate  # imports this module

        return Predicate([self, other]) if isinstance(other, Filter) else NotImplemented

    @property
    def names(self) -> frozenset[str]:
        """The attributes whose values the filter tests."""
        return frozenset(constraint.name for constraint in self.constraints).union(
            *(condition.names for condition in self.conditions)
        )

    @property
    def used_names(self) -> frozenset[str]:
        """The attributes that the filter tests, also for their presence."""
        tests = (condition.test for condition in self.conditions)
        return self.names.union(test.name for test in tests if isinstance(test, Presence))

    @property
    def tag_names(self) -> frozenset[str]:
        """The tags that the filter requires or forbids."""
        tests = (condition.test for condition in self.conditions)
        return self.tags.union(test.tag for test in tests if isinstance(test, TagTest))

    def __reduce__(self) -> tuple[Any, ...]:
        return Filter, (self.constraints, self.tags, self.conditions)

    @property
    def written_constraints(self) -> tuple[Constraint, ...]:
        """The constraints that the conditions do not imply."""
        implied = {constraint for condition in self.conditions for constraint in condition.implied}
        return tuple(constraint for constraint in self.constraints if constraint not in implied)

    def __str__(self) -> str:
        parts = [*map(str, self.written_constraints), *map(str, self.conditions), *map(format_tag, sorted(self.tags))]
        return " and ".join(parts) or "true"

    def __repr__(self) -> str:
        return f"parse_filter({str(self)!r})"

    def _make_key(self) -> tuple[Any, ...]:
        return tuple(sorted(self.constraints)), tuple(sorted(self.tags)), tuple(sorted(self.conditions))


class Descriptor(Filter):
    """A set of tags: the filter of [2014 §2]. It equals the `Filter` that has the same tags."""

    __slots__ = ()

    def __init__(self, tags: Iterable[str]) -> None:
        super().__init__((), tags)

    def __reduce__(self) -> tuple[Any, ...]:
        return Descriptor, (self.tags,)

    def __repr__(self) -> str:
        return f"Descriptor({sorted(self.tags)!r})"


def _with_implied(constraints: dict[Constraint, None], conditions: tuple[Condition, ...]) -> tuple[Constraint, ...]:
    """Return constraints with those that conditions imply; `exists` only where nothing else tests the attribute."""
    if not conditions:
        return tuple(constraints)
    implied = dict.fromkeys(constraint for condition in conditions for constraint in condition.implied)
    merged = {constraint: None for constraint in constraints if constraint not in implied}
    merged |= {constraint: None for constraint in implied if constraint.op is not Op.EXISTS}
    tested = {constraint.name for constraint in merged}
    merged |= {constraint: None for constraint in implied if constraint.name not in tested}
    return tuple(merged)


def binding_exists(
    candidates: Mapping[str, Sequence[Leaf]],
    test: Callable[[Mapping[str, Value]], bool],
    budget: SearchBudget | None = None,
) -> bool:
    """Return whether a binding passes a test; raise UndecidedError if the search takes too long.

    candidates: the possible values of each attribute, in the order of the message; none for an unbound one.
    budget: how many values it may examine, together with other searches; by default MAX_EXAMINED.
    """
    budget = SearchBudget(MAX_EXAMINED) if budget is None else budget
    present = (name for name, leaves in candidates.items() if leaves)
    names = sorted(present, key=lambda name: (len(candidates[name]), name))
    if not names:
        return test({})
    # A filter may name thousands of attributes: no recursion, and no comparison of each leaf with all others.
    values: dict[str, Value] = {}
    indexes: dict[Any, int] = {}  # the element of each array that the bound leaves lie in
    entered: list[list[Any]] = []  # for each bound leaf, the arrays that it was the first in
    following = [0]  # for each bound attribute and the next one, the next leaf to examine
    while following:
        index = len(following) - 1
        while len(entered) > index:
            for array in entered.pop():
                del indexes[array]
        if following[-1] == len(candidates[names[index]]):
            following.pop()
            continue
        leaf = candidates[names[index]][following[-1]]
        following[-1] += 1
        budget.spend(1)
        if any(indexes.get(array, at) != at for array, at in leaf.element):
            continue
        values[names[index]] = leaf.value
        entered.append([array for array, _ in leaf.element if array not in indexes])
        indexes.update(leaf.element)
        if index + 1 < len(names):
            following.append(0)
        elif test(values):
            return True
    return False
