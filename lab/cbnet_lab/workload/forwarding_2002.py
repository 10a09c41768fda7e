"""The forwarding workload of [2002 §5.1].

Parameters have the names of [2002 Table 1]; ranges include their lower end only. Names are
weighted by Zipf, the same for attributes and constraints; values are uniform. Where the paper is
silent: Zipf's exponent is 1, the integers are 0 to 99, and the operands of prefix, suffix and
substring are whole words, as for `=`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cbnet.language.constraint import Op
from cbnet.language.values import ValueType
from cbnet_lab.workload import checks
from cbnet_lab.workload.distributions import uniform, zipf_weights
from cbnet_lab.workload.scenario import Scenario, ValueDomain
from cbnet_lab.workload.spread import Spread, fixed_spread, random_spread
from cbnet_lab.workload.vocabulary.words import words

_D_OI = ((Op.EQ, 60.0), (Op.LT, 20.0), (Op.GT, 20.0))
_D_OS = (
    (Op.EQ, 35.0), (Op.PREFIX, 15.0), (Op.SUFFIX, 15.0), (Op.SUBSTRING, 15.0), (Op.LT, 10.0), (Op.GT, 10.0),
)  # fmt: skip


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
    D_os: checks.OperatorShares = _D_OS
    D_oi: checks.OperatorShares = _D_OI
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
