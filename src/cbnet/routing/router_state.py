"""Memory of a scheme in bits: the state of its routers, and the paper's formulas [2006 §2.4, §3].

`Scheme.state` counts identifiers, single bits and words of predicates. The counts become bits as follows:

    identifier of a node      log2(n) bits, rounded up
    constraint or tag         one 64-bit word, as in a compiled table (`matching.storage.codes`)
    filter without any        one word, for `true`

Names and constants, which the words refer to, are not counted. `Scheme.formula` returns M(S) as printed in the paper:
O() with constant 1, log2 not rounded, distances in hops. M_p, the size of a receiver's predicate, is each predicate's
own unreduced size; α of a number of predicates is computed by `alpha`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cbnet.routing.network import Network

WORD_BITS = 64
_SAMPLES = 20


@dataclass(frozen=True)
class RouterState:
    """The state of one router, or of several together."""

    identifiers: int = 0
    flags: int = 0  # single bits
    words: int = 0  # of predicates, reduced
    unreduced_words: int = 0  # of the same predicates, if every receiver's predicate were stored separately
    unreduced_predicates: int = 0  # number of predicates in that case

    def __add__(self, other: RouterState) -> RouterState:
        return RouterState(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(RouterState)))

    def bits(self, nodes: int) -> int:
        """Return the bits of this state in a network of `nodes` nodes."""
        return self.identifiers * identifier_bits(nodes) + self.flags + self.words * WORD_BITS

    def scaled(self, factor: float) -> RouterState:
        """Return this state multiplied by a factor, rounded."""
        return RouterState(*(round(getattr(self, field.name) * factor) for field in fields(RouterState)))

    def with_words(self, sampled: RouterState) -> RouterState:
        """Return this state with its predicates reduced by the same ratio as those of a sample."""
        kept = sampled.words / sampled.unreduced_words if sampled.unreduced_words else 1.0
        return replace(self, words=round(self.unreduced_words * kept))


def total(states: Iterable[RouterState]) -> RouterState:
    """Return the sum of states."""
    return sum(states, RouterState())


def receiver_state(network: Network) -> RouterState:
    """Return the state of all receivers, each with its own reduced predicate."""
    interests, receivers = network.interests, network.predicates
    return RouterState(
        identifiers=len(receivers),
        words=sum(interests.words(interests.of(x)) for x in receivers),
        unreduced_words=sum(map(interests.unreduced_words, receivers)),
        unreduced_predicates=len(receivers),
    )


def identifier_bits(nodes: int) -> int:
    """Return the bits of an identifier in a network of `nodes` nodes."""
    return (nodes - 1).bit_length()


def alpha(network: Network) -> float:
    """Return α(r/Δ), the disjunction advantage of r receivers' predicates spread over the maximum degree Δ.

    The mean over random samples of r/Δ receivers, rounded and at least one; the samples are the same in every run.
    """
    receivers, interests = list(network.predicates), network.interests
    largest = max(1, int(network.graph.degrees.max()))
    count = max(1, round(len(receivers) / largest))
    rng = random.Random(0)
    unreduced = kept = 0
    for _ in range(_SAMPLES if receivers else 0):
        chosen = rng.sample(receivers, count)
        unreduced += sum(map(interests.unreduced_words, chosen))
        kept += interests.words(interests.disjunction(map(interests.of, chosen)))
    return kept / unreduced if unreduced else 1.0
