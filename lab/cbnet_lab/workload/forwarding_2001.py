"""The forwarding workload of [2001 §4.1].

Parameters have the names of [2001 Table 1]; ranges include both ends. The paper's "linear" distribution of
values is read as a probability that falls linearly with the rank: 0 is the most likely integer.
Where the paper is silent: names are uniform, bools are compared with `=` only, and SV and IV are those of [2002].
Its Table 1 calls IV a number of strings, its text a sequence of integers from 0: here, 0 to IV - 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cbnet.language.constraint import Op
from cbnet.language.values import ValueType
from cbnet_lab.workload import checks
from cbnet_lab.workload.distributions import equal_weights, linear, uniform
from cbnet_lab.workload.scenario import Scenario, ValueDomain
from cbnet_lab.workload.spread import fixed_spread
from cbnet_lab.workload.vocabulary.words import words

_DO = ((Op.EQ, 60.0), (Op.LT, 20.0), (Op.GT, 20.0))
_DO_BOOL = ((Op.EQ, 100.0),)


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
    DO: checks.OperatorShares = _DO  # for strings and integers
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
            name_weights=equal_weights(self.A),
            domains=(
                ValueDomain("string", self.DT[0], text, linear(self.SV), self.DO),
                ValueDomain("int", self.DT[1], numbers, linear(self.IV), self.DO),
                ValueDomain("bool", self.DT[2], (False, True), uniform(2), _DO_BOOL),
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
