"""cbnet: a content-based network.

Receivers declare predicates over the content of messages, senders only publish, and routers carry
every message to exactly the receivers whose predicate it matches.
"""

from cbnet.errors import CbnetError, InputError
from cbnet.language import (
    Constraint,
    Descriptor,
    Filter,
    Limits,
    Message,
    Op,
    Predicate,
    counterexample,
    covers,
    disjunction_advantage,
    overlaps,
    parse,
    parse_filter,
    reduce,
    satisfiable,
    size,
    witness,
)
from cbnet.matching import Table

__version__ = "0.1.0"
__all__ = [
    "CbnetError",
    "Constraint",
    "Descriptor",
    "Filter",
    "InputError",
    "Limits",
    "Message",
    "Op",
    "Predicate",
    "Table",
    "counterexample",
    "covers",
    "disjunction_advantage",
    "overlaps",
    "parse",
    "parse_filter",
    "reduce",
    "satisfiable",
    "size",
    "witness",
]
