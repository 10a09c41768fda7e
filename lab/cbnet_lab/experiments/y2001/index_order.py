"""Order of the constraint index, and value indexes that can be exchanged [2001 §3].

    [2001]    type ─► name ─► operator ─► value index
    [2002]    name ─► type ─► operator ─► value index

[2001] notes that the value index of each operator can be any structure. Three are compared, all in Python, so that only
their ratios count: sorted arrays as in the paper, a hash table for `=` beside them, and a scan. Every combination must
select the same constraints.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import eq, gt, lt
from time import thread_time
from typing import Any, TypeAlias

import pyarrow as pa

from cbnet.errors import CbnetError
from cbnet_lab.bench.bench_input import bench_input
from cbnet_lab.experiments.curves import Row, grouped, median
from cbnet_lab.experiments.experiment import ExperimentContext, Rows, experiment
from cbnet_lab.experiments.unknown_attributes import with_unknown_attributes
from cbnet_lab.workload import Forwarding2001

Value: TypeAlias = Any  # a string, an integer or a bool
Attribute: TypeAlias = tuple[str, str, Value]  # type, name and value
_TYPES = ("string", "int", "bool")
_TYPE_OF: Mapping[type, str] = {str: "string", int: "int", bool: "bool"}


# Returns the constants of one type, name and operator that a value satisfies.
ValueIndex: TypeAlias = Callable[[str, Value], Sequence[Value]]


def sorted_index(constants: list[Value]) -> ValueIndex:
    """Return a binary search in a sorted array, as in the paper."""

    def select(operator: str, value: Value) -> Sequence[Value]:
        low, high = bisect_left(constants, value), bisect_right(constants, value)
        return constants[{"=": low, "<": high, ">": 0}[operator] : {"=": high, "<": None, ">": low}[operator]]

    return select


def hashed_index(constants: list[Value]) -> ValueIndex:
    """Return a look-up in a hash table for `=`, and a search in a sorted array for the others."""
    hashed, search = frozenset(constants), sorted_index(constants)

    def select(operator: str, value: Value) -> Sequence[Value]:
        return search(operator, value) if operator != "=" else [value] if value in hashed else []

    return select


def scanned_index(constants: list[Value]) -> ValueIndex:
    """Return a scan of a list to its end."""
    tests = {"=": eq, "<": lt, ">": gt}
    return lambda operator, value: [each for each in constants if tests[operator](value, each)]


VALUE_INDEXES = {"sorted": sorted_index, "hashed =": hashed_index, "scanned": scanned_index}
ORDERS = ("type, name", "name, type")


class ConstraintIndex:
    """An index in one of the orders, with one kind of value index; its names are searched in a sorted array."""

    def __init__(
        self, constraints: Iterable[tuple[Attribute, str]], order: str, new: Callable[[list[Value]], ValueIndex]
    ) -> None:
        constants: dict[tuple[str, str, str], set[Value]] = defaultdict(set)
        for (kind, name, value), operator in constraints:
            constants[kind, name, operator].add(value)
        self._is_type_first = order == ORDERS[0]
        self._branches: dict[Hashable, dict[str, ValueIndex]] = defaultdict(dict)
        names: dict[str, set[str]] = defaultdict(set)
        for (kind, name, operator), values in constants.items():
            names[kind if self._is_type_first else ""].add(name)
            self._branches[kind, name][operator] = new(sorted(values))
        self._names = {kind: sorted(own) for kind, own in names.items()}
        self.steps = 0  # of the searches for names

    def select(self, attribute: Attribute) -> list[tuple[str, Value]]:
        """Return the constraints that an attribute satisfies."""
        kind, name, value = attribute
        names = self._names.get(kind if self._is_type_first else "", [])
        self.steps += len(names).bit_length()
        place = bisect_left(names, name)
        if place == len(names) or names[place] != name:
            return []
        branches = self._branches.get((kind, name), {})
        return [(operator, each) for operator, index in branches.items() for each in index(operator, value)]


@dataclass(frozen=True)
class IndexOrderParameters:
    """Filters, names, messages and turns."""

    filters: int = 10_000
    names: tuple[int, ...] = (100, 1000)
    messages: int = 200
    turns: int = 3


def _times(parameters: IndexOrderParameters, context: ExperimentContext) -> Iterator[Row]:
    for done, names in enumerate(parameters.names):
        context.progress(done, len(parameters.names), f"{names:,} names")
        mix = Forwarding2001(
            N=parameters.messages, F=parameters.filters, A=names, dictionary=context.dictionary, seed=context.seed
        )
        data = bench_input(mix, lambda _: None)
        constraints = [*_constraints(data.filters)]
        unknown = with_unknown_attributes(data, 0)
        for known, members in (("known names", data.members), ("unknown names", unknown.members)):
            attributes = [
                (_TYPE_OF[type(value)], name, value) for message in members for name, value in message.items()
            ]
            for row in _compare(constraints, attributes, parameters):
                yield {"names": names, "attributes": known, **row}


def _constraints(filters: pa.Table) -> Iterator[tuple[Attribute, str]]:
    for row in filters.to_pylist():
        kind = next(kind for kind in _TYPES if row[kind] is not None)
        yield (kind, row["name"], row[kind]), row["op"]


def _compare(
    constraints: Sequence[tuple[Attribute, str]], attributes: Sequence[Attribute], parameters: IndexOrderParameters
) -> Iterator[Row]:
    """Yield the steps and times of all combinations, in turns; check that all select the same."""
    cases = {
        (order, kind): ConstraintIndex(constraints, order, new)
        for order in ORDERS
        for kind, new in VALUE_INDEXES.items()
    }
    expected = None
    for turn in range(parameters.turns):
        for (order, kind), index in cases.items():
            index.steps = 0
            start = thread_time()
            selected = [index.select(attribute) for attribute in attributes]
            spent = thread_time() - start
            found = [sorted(each) for each in selected]
            expected = expected or found
            if found != expected:
                raise CbnetError(f"an index with {order} and {kind} values selects other constraints")
            yield {
                "order": order, "values": kind, "turn": turn, "us": spent / len(attributes) * 1e6,
                "steps": index.steps / len(attributes), "selected": sum(map(len, selected)) / len(attributes),
            }  # fmt: skip


def _charts(rows: Rows, _: IndexOrderParameters) -> dict[str, list[Row]]:
    groups = grouped(rows["times"], "names", "attributes", "order", "values")
    return {
        "orders": [
            {"of": f"{names:,} names, {known}", "values": values, "order": order, "us": median(group)}
            for (names, known, order, values), group in groups.items()
        ]
    }


EXPERIMENT = experiment("2001-index-order", IndexOrderParameters, {"times": _times}, chart_rows=_charts)
