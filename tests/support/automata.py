"""The oracle of `cbnet.language.relations.string_range`: the same question, answered by a search over automata.

Each constraint on a string is a small automaton that reads the string once, from left to right.
Run side by side they are one automaton, and a string is what we look for if all of them end as
wanted. A breadth-first search over their joint states finds a shortest one, or proves that there
is none. Characters that all automata treat alike are tried once: those between two neighbouring
characters of the constants behave the same.

The number of joint states is bounded by the product of the constants' lengths. Beyond a budget
the search gives up and says UNDECIDED.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import pairwise
from typing import Final, Literal

from cbnet.language.constraint import Constraint, Op


class _Undecided(Enum):
    UNDECIDED = "undecided"


UNDECIDED: Final = _Undecided.UNDECIDED
Found = str | Literal[_Undecided.UNDECIDED] | None

DEFAULT_BUDGET = 200_000  # steps of single automata; about 50 ms
_READABLE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-./"
_LESS, _GREATER = -1, -2  # states of a comparison that is decided


def find(wanted: Iterable[Constraint], unwanted: Iterable[Constraint] = (), budget: int = DEFAULT_BUDGET) -> Found:
    """Return a shortest string that satisfies all `wanted` constraints and no `unwanted` one.

    None proves that there is none; UNDECIDED means that the budget did not suffice. All
    constraints have string constants.
    """
    machines = [_machine(constraint, True) for constraint in wanted]
    machines += [_machine(constraint, False) for constraint in unwanted]
    alphabet = _alphabet([machine.constant for machine in machines])
    start = tuple(machine.start for machine in machines)
    origins: dict[tuple[int, ...], tuple[tuple[int, ...], str] | None] = {start: None}
    queue = deque([start])
    while queue:
        states = queue.popleft()
        if all(machine.is_satisfied(state) for machine, state in zip(machines, states, strict=True)):
            return _spelled(states, origins)
        budget -= len(alphabet) * len(machines)
        if budget < 0:
            return UNDECIDED
        for char in alphabet:
            following = tuple(machine.step(state, char) for machine, state in zip(machines, states, strict=True))
            if following not in origins and not any(
                machine.is_hopeless(state) for machine, state in zip(machines, following, strict=True)
            ):
                origins[following] = (states, char)
                queue.append(following)
    return None


def _spelled(states: tuple[int, ...], origins: dict[tuple[int, ...], tuple[tuple[int, ...], str] | None]) -> str:
    chars = []
    origin = origins[states]
    while origin is not None:
        states, char = origin
        chars.append(char)
        origin = origins[states]
    return "".join(reversed(chars))


def _alphabet(constants: Sequence[str]) -> list[str]:
    """Return the characters of the constants, and a readable one from each gap between them."""
    chars = sorted(set("".join(constants)))
    edges = [-1, *map(ord, chars), 0x110000]
    gaps = [char for low, high in pairwise(edges) if (char := _between(low, high)) is not None]
    return [*chars, *gaps]


def _between(low: int, high: int) -> str | None:
    """Return a character above `low` and below `high`, a readable one if there is."""
    readable = next((char for char in _READABLE if low < ord(char) < high), None)
    if readable is not None:
        return readable
    following = 0xE000 if 0xD800 <= low + 1 <= 0xDFFF else low + 1
    return chr(following) if following < high else None


class _Comparison:
    """Reads how a string compares with a constant: equal so far (state = length), less or greater.

    With = and ^= a decided comparison is hopeless; a prefix is decided when it is complete.
    """

    start = 0

    def __init__(self, constraint: Constraint, wanted: bool) -> None:
        self.constant = str(constraint.value)
        self._op = constraint.op
        self._wanted = wanted

    def step(self, state: int, char: str) -> int:
        if state < 0:
            return state
        if state == len(self.constant):
            return state if self._op is Op.PREFIX else _GREATER
        expected = self.constant[state]
        if char == expected:
            return state + 1
        return _LESS if char < expected else _GREATER

    def is_satisfied(self, state: int) -> bool:
        return self._holds(state) == self._wanted

    def is_hopeless(self, state: int) -> bool:
        is_final = state < 0 or (self._op is Op.PREFIX and state == len(self.constant))
        return is_final and not self.is_satisfied(state)

    def _holds(self, state: int) -> bool:
        is_equal = state == len(self.constant)
        is_less = state == _LESS or 0 <= state < len(self.constant)  # a proper prefix is less
        match self._op:
            case Op.EQ | Op.PREFIX:
                return is_equal
            case Op.NE:
                return not is_equal
            case Op.LT:
                return is_less
            case Op.LE:
                return is_less or is_equal
            case Op.GT:
                return not is_less and not is_equal
            case _:
                return not is_less


class _Occurrence:
    """Reads how much of a constant the string read so far ends with (Knuth, Morris and Pratt)."""

    start = 0

    def __init__(self, constraint: Constraint, wanted: bool) -> None:
        self.constant = str(constraint.value)
        self._is_suffix = constraint.op is Op.SUFFIX
        self._wanted = wanted
        self._borders = _borders(self.constant)

    def step(self, state: int, char: str) -> int:
        if state == len(self.constant):
            if not self._is_suffix:
                return state  # found once is found for good
            state = self._borders[state]
        while state > 0 and self.constant[state] != char:
            state = self._borders[state]
        if not self.constant:
            return 0
        return state + (self.constant[state] == char)

    def is_satisfied(self, state: int) -> bool:
        return (state == len(self.constant)) == self._wanted

    def is_hopeless(self, state: int) -> bool:
        return not self._is_suffix and not self._wanted and state == len(self.constant)


def _borders(text: str) -> list[int]:
    """Return for each length n the longest proper border of text[:n]: both its start and its end."""
    borders = [0] * (len(text) + 1)
    for length in range(2, len(text) + 1):
        border = borders[length - 1]
        while border > 0 and text[border] != text[length - 1]:
            border = borders[border]
        borders[length] = border + (text[border] == text[length - 1])
    return borders


def _machine(constraint: Constraint, wanted: bool) -> _Comparison | _Occurrence:
    kind = _Occurrence if constraint.op in (Op.SUFFIX, Op.SUBSTRING) else _Comparison
    return kind(constraint, wanted)
