"""Bindings: one value for each attribute that a filter names and a message has.

A message matches a filter if some binding satisfies all constraints and conditions. The bound values must be
compatible: no two lie in different elements of one array. An attribute that the message lacks is unbound.

The search examines at most `MAX_EXAMINED` values; only conditions that relate several attributes of many
values come near it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cbnet.language.leaves import Element, Leaf, compatible
from cbnet.language.values import Value

MAX_EXAMINED = 100_000


def binding_exists(candidates: Mapping[str, Sequence[Leaf]], test: Callable[[Mapping[str, Value]], bool]) -> bool:
    """Return whether a binding passes a test.

    candidates: the possible values of each attribute, in the order of the message; none for an unbound one.
    """
    names = sorted(name for name, leaves in candidates.items() if leaves)
    examined = 0

    def search(index: int, values: dict[str, Value], elements: list[Element]) -> bool:
        nonlocal examined
        if index == len(names):
            return test(values)
        for leaf in candidates[names[index]]:
            examined += 1
            if examined > MAX_EXAMINED:
                return False
            if all(compatible(leaf.element, element) for element in elements):
                bound = {**values, names[index]: leaf.value}
                if search(index + 1, bound, [*elements, leaf.element]):
                    return True
        return False

    return search(0, {}, [])
