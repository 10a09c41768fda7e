"""Bindings: one value for each attribute that a filter names and a message has.

A message matches a filter if some binding satisfies all constraints and conditions. The bound values must be
compatible: no two lie in different elements of one array. An attribute that the message lacks is unbound.

The attributes with the fewest possible values are bound first. The search examines at most `MAX_EXAMINED` values,
then the message does not match: that takes hundreds of possible values of several attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cbnet.language.leaves import Leaf
from cbnet.language.values import Value

MAX_EXAMINED = 100_000


def binding_exists(candidates: Mapping[str, Sequence[Leaf]], test: Callable[[Mapping[str, Value]], bool]) -> bool:
    """Return whether a binding passes a test.

    candidates: the possible values of each attribute, in the order of the message; none for an unbound one.
    """
    present = (name for name, leaves in candidates.items() if leaves)
    names = sorted(present, key=lambda name: (len(candidates[name]), name))
    if not names:
        return test({})
    # A filter may name thousands of attributes: no recursion, and no comparison of each leaf with all others.
    values: dict[str, Value] = {}
    indexes: dict[Any, int] = {}  # the element of each array that the bound leaves lie in
    entered: list[list[Any]] = []  # for each bound leaf, the arrays that it was the first in
    following = [0]  # for each bound attribute and the next one, the next leaf to examine
    examined = 0
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
        examined += 1
        if examined > MAX_EXAMINED:
            return False
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
