"""The predicate generator of [2006 §4.2] and its parameters.

A predicate is one filter. Half of the names have string values, half integers; which half is drawn
for each set. Where the paper is silent: Zipf's exponent is 1; names are drawn independently, so a
filter may repeat a name (otherwise the paper's rule for redundant constraints in a conjunction would
never apply); strings are drawn by their counts in the corpus.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from cbnet.language.constraint import Op
from cbnet_lab.workload.checks import OperatorShares, check_at_least, check_zipf
from cbnet_lab.workload.distributions import uniform, weighted, zipf_weights
from cbnet_lab.workload.filter_table import coded, constraint_table
from cbnet_lab.workload.scenario import ValueDomain
from cbnet_lab.workload.vocabulary import terms

_SIZES = (10.0, 40.0, 30.0, 10.0, 5.0, 5.0)  # % of filters with 1, 2, ... constraints
_STRING_OPERATORS: OperatorShares = (
    (Op.EQ, 40.0), (Op.PREFIX, 10.0), (Op.SUFFIX, 10.0), (Op.SUBSTRING, 10.0), (Op.NE, 10.0), (Op.LT, 10.0),
    (Op.GT, 10.0),
)  # fmt: skip
_INTEGER_OPERATORS: OperatorShares = ((Op.EQ, 40.0), (Op.LT, 25.0), (Op.GT, 25.0), (Op.NE, 10.0))
_INTEGERS = range(-100, 101)


@dataclass(frozen=True)
class Disjunction2006:
    """The parameters of [2006 §4.2]: the number of predicates, of names |A|, and their distribution D."""

    predicates: int = 10_000
    names: int = 500
    zipf: float = 0.0  # the exponent of D; 0 is uniform
    terms: Path | None = None  # a term file; None: the default list
    seed: int = 0
    set: int = 0  # the index of a set; sets with the same seed differ

    def __post_init__(self) -> None:
        check_at_least(0, seed=self.seed, set=self.set)
        check_at_least(1, predicates=self.predicates)
        check_at_least(2, names=self.names)
        check_zipf(self.zipf)


# The scenarios of [2006 Figs. 6 and 7]: the number of names, and the exponent of their distribution.
SCENARIOS: dict[str, tuple[int, float]] = {
    "zipf-500": (500, 1.0),
    "zipf-5000": (5000, 1.0),
    "uniform-50": (50, 0.0),
    "uniform-500": (500, 0.0),
}


def predicates(parameters: Disjunction2006) -> pa.Table:
    """Return predicates, an interface for each, as a table of filters."""
    rng = np.random.default_rng([parameters.seed, parameters.set])
    sizes = 1 + weighted(np.array(_SIZES))(rng, parameters.predicates)
    names = weighted(zipf_weights(parameters.names, parameters.zipf))(rng, int(sizes.sum()))
    types = (rng.permutation(parameters.names) % 2).astype(np.int32)[names]
    filters = np.repeat(np.arange(len(sizes)), sizes)
    columns = {"rule": pa.array(filters), "filter": pa.array(filters)}
    columns |= {"name": coded(names, [f"a{rank}" for rank in range(1, parameters.names + 1)])}
    return constraint_table(columns, rng, types, _domains(parameters.terms))


def _domains(file: Path | None) -> tuple[ValueDomain, ValueDomain]:
    words = terms(file)
    return (
        ValueDomain("string", 50.0, words.words, weighted(np.array(words.weights)), _STRING_OPERATORS),
        ValueDomain("int", 50.0, _INTEGERS, uniform(len(_INTEGERS)), _INTEGER_OPERATORS),
    )
