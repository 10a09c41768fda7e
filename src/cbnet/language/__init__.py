"""The predicate language: what can be said? Values, messages, predicates, and how they relate."""

from cbnet.language.constraint import Constraint, Op
from cbnet.language.covering import covers, overlaps, satisfiable
from cbnet.language.filter import Descriptor, Filter
from cbnet.language.message import Message
from cbnet.language.parser import Limits, parse, parse_filter
from cbnet.language.predicate import Predicate
from cbnet.language.reduction import reduce
from cbnet.language.size import disjunction_advantage, size
from cbnet.language.witness import counterexample, witness

__all__ = [
    "Constraint", "Descriptor", "Filter", "Limits", "Message", "Op", "Predicate",
    "counterexample", "covers", "disjunction_advantage", "overlaps", "parse", "parse_filter", "reduce",
    "satisfiable", "size", "witness",
]  # fmt: skip
