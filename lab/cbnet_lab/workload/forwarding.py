"""The forwarding workloads of [2001 §4.1] and [2002 §5.1], and mixes that commands select by name, at any size.

[2001]: parameters have the names of its Table 1; ranges include both ends. The paper's "linear" distribution of values
is read as a probability that falls linearly with the rank: 0 is the most likely integer. Where the paper is silent:
names are uniform, bools are compared with `=` only, and SV and IV are those of [2002]. Its Table 1 calls IV a number of
strings, its text a sequence of integers from 0: here, 0 to IV - 1.

[2002]: parameters have the names of its Table 1; ranges include their lower end only. Names are weighted by Zipf, the
same for attributes and constraints; values are uniform. Where the paper is silent: Zipf's exponent is 1, the integers
are 0 to 99, and the operands of prefix, suffix and substring are whole words, as for `=`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cbnet.errors import InputError
from cbnet.language.constraint import Op
from cbnet.language.values import ValueType
from cbnet_lab.workload import checks
from cbnet_lab.workload.dense_ranges import RANGE_MIXES, DenseRanges
from cbnet_lab.workload.distributions import linear, uniform, zipf_weights
from cbnet_lab.workload.scenario import Scenario, Spread, ValueDomain, WorkloadParameters, fixed_spread, random_spread
from cbnet_lab.workload.vocabulary import words

_NUMBER_OPS = ((Op.EQ, 60.0), (Op.LT, 20.0), (Op.GT, 20.0))  # of [2001], DO, also for strings
_STRING_OPS = (
    (Op.EQ, 35.0), (Op.PREFIX, 15.0), (Op.SUFFIX, 15.0), (Op.SUBSTRING, 15.0), (Op.LT, 10.0), (Op.GT, 10.0),
)  # fmt: skip
_ONLY_EQUAL = ((Op.EQ, 100.0),)


@dataclass(frozen=True)
class Forwarding2001:
    """The parameters of [2001 Table 1]; F filters, at least one for each of the I interfaces."""

    N: int = 1000  # messages
    I: int | None = 50  # noqa: E741  # interfaces; None: I = F, one filter each; in the paper also 2 to 500
    F: int = 1000  # filters; in the paper up to 8,192,000
    AN: tuple[int, int] = (3, 10)  # attributes of a message
    CN: tuple[int, int] = (1, 5)  # constraints of a filter
    A: int = 100  # names, of attributes and constraints alike: A = C; in the paper 50, 100 and 1000
    DT: tuple[float, float, float] = (40.0, 40.0, 20.0)  # % of strings, of integers and of bools
    DO: checks.OperatorShares = _NUMBER_OPS  # for strings and integers
    SV: int = 1000  # words
    IV: int = 100  # integers, from 0
    dictionary: Path | None = None  # one word per line; None: the system's dictionary, or generated words
    seed: int = 0

    def __post_init__(self) -> None:
        checks.check_at_least(0, seed=self.seed, **_ends("CN", self.CN))
        checks.check_at_least(1, N=self.N, A=self.A, SV=self.SV, IV=self.IV, **_ends("AN", self.AN))
        checks.check_sizes(f"AN = {self.AN}", _inclusive(self.AN))
        checks.check_sizes(f"CN = {self.CN}", _inclusive(self.CN))
        checks.check_names(f"AN = {self.AN}", _inclusive(self.AN), self.A)
        checks.check_shares("DT", self.DT)
        checks.check_operators("DO", self.DO, ValueType.STRING)
        checks.check_operators("DO", self.DO, ValueType.NUMBER)
        fixed_spread(self.F, self.I)  # checks both

    def scenario(self) -> Scenario:
        """Return the scenario of these parameters."""
        text = words(self.SV, f"strings {self.seed}", self.dictionary)
        numbers = range(self.IV)
        return Scenario(
            seed=self.seed,
            names=words(self.A, f"names {self.seed}", self.dictionary),
            name_weights=np.ones(self.A),
            domains=(
                ValueDomain("string", self.DT[0], text, linear(self.SV), self.DO),
                ValueDomain("int", self.DT[1], numbers, linear(self.IV), self.DO),
                ValueDomain("bool", self.DT[2], (False, True), uniform(2), _ONLY_EQUAL),
            ),
            spread=fixed_spread(self.F, self.I),
            constraints=_inclusive(self.CN),
            messages=self.N,
            attributes=_inclusive(self.AN),
        )


def _inclusive(ends: tuple[int, int]) -> range:
    return range(ends[0], ends[1] + 1)


def _ends(name: str, ends: tuple[int, int]) -> dict[str, int]:
    return {f"{name}[{index}]": end for index, end in enumerate(ends)}


@dataclass(frozen=True)
class Forwarding2002:
    """The parameters of [2002 Table 1], with the paper's values as defaults.

    The number of filters is random, about I * f_h / 2, as in the paper, or exactly F; then f_l and f_h
    are ignored, every interface gets one filter and the rest are dealt at random.
    """

    M: int = 100  # messages
    a_l: int = 1  # attributes of a message: [a_l, a_h)
    a_h: int = 19
    I: int | None = 20  # noqa: E741  # interfaces; None: as many as filters, one filter each
    f_l: int = 1  # filters of an interface: [f_l, f_h); the paper varies f_h
    f_h: int = 1000
    F: int | None = None  # total number of filters
    c_l: int = 1  # constraints of a filter: [c_l, c_h)
    c_h: int = 10
    names: int = 1000
    zipf: float = 1.0  # the exponent of D_a = D_c
    strings: int = 1000  # words, uniform: D_s
    integers: int = 100  # from 0, uniform: D_i
    D_t: tuple[float, float] = (50.0, 50.0)  # % of strings and of integers
    D_os: checks.OperatorShares = _STRING_OPS
    D_oi: checks.OperatorShares = _NUMBER_OPS
    dictionary: Path | None = None  # one word per line; None: the system's dictionary, or generated words
    seed: int = 0

    def __post_init__(self) -> None:
        checks.check_at_least(0, seed=self.seed, f_l=self.f_l, f_h=self.f_h, c_l=self.c_l, c_h=self.c_h)
        checks.check_at_least(1, M=self.M, a_l=self.a_l, a_h=self.a_h)
        checks.check_at_least(1, names=self.names, strings=self.strings, integers=self.integers)
        checks.check_sizes(f"[a_l, a_h) = [{self.a_l}, {self.a_h})", self._attributes)
        checks.check_sizes(f"[c_l, c_h) = [{self.c_l}, {self.c_h})", self._constraints)
        checks.check_names(f"a_h = {self.a_h}", self._attributes, self.names)
        checks.check_zipf(self.zipf)
        checks.check_shares("D_t", self.D_t)
        checks.check_operators("D_os", self.D_os, ValueType.STRING)
        checks.check_operators("D_oi", self.D_oi, ValueType.NUMBER)
        self._spread()  # checks I, F, f_l and f_h

    def scenario(self) -> Scenario:
        """Return the scenario of these parameters."""
        text = words(self.strings, f"strings {self.seed}", self.dictionary)
        numbers = range(self.integers)
        return Scenario(
            seed=self.seed,
            names=words(self.names, f"names {self.seed}", self.dictionary),
            name_weights=zipf_weights(self.names, self.zipf),
            domains=(
                ValueDomain("string", self.D_t[0], text, uniform(self.strings), self.D_os),
                ValueDomain("int", self.D_t[1], numbers, uniform(self.integers), self.D_oi),
            ),
            spread=self._spread(),
            constraints=self._constraints,
            messages=self.M,
            attributes=self._attributes,
        )

    @property
    def _attributes(self) -> range:
        return range(self.a_l, self.a_h)

    @property
    def _constraints(self) -> range:
        return range(self.c_l, self.c_h)

    def _spread(self) -> Spread:
        if self.F is None:
            return random_spread(self.I, self.f_l, self.f_h)
        return fixed_spread(self.F, self.I)


def equality(**parameters: Any) -> Forwarding2002:
    """Return the parameters of [2002 §5.1] with `=` as the only operator, as in most brokers; not from the papers."""
    return Forwarding2002(D_os=_ONLY_EQUAL, D_oi=_ONLY_EQUAL, **parameters)


MIXES: dict[str, Callable[..., WorkloadParameters | DenseRanges]] = {
    "2002": Forwarding2002,
    "2001": lambda M, **sizes: Forwarding2001(N=M, **sizes),  # noqa: N803
    "equality": equality,
    **RANGE_MIXES,
}


def mix(
    name: str, *, filters: int = 10_000, interfaces: int | None = None, messages: int = 100, seed: int = 0
) -> WorkloadParameters | DenseRanges:
    """Return the parameters of a mix at this size, with everything else as in its paper.

    If `interfaces` is None, each filter has its own interface: the papers' centralised case, I = F.
    """
    if name not in MIXES:
        raise InputError(f"unknown mix {name!r}", hint=f"use one of {', '.join(MIXES)}")
    return MIXES[name](M=messages, F=filters, I=interfaces, seed=seed)
