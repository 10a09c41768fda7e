"""cbnet: a content-based network.

Receivers declare predicates over the content of messages, senders publish, and routers deliver
every message to exactly the receivers whose predicate it matches.
"""

from importlib import import_module
from typing import Any

from cbnet.errors import CbnetError, ColumnWarning, InputError
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
from cbnet.matching import Rule, Table

__version__ = "0.3.0.dev0"
__all__ = [
    "CbnetError",
    "ColumnWarning",
    "Constraint",
    "Descriptor",
    "Filter",
    "InputError",
    "Limits",
    "Message",
    "Op",
    "Predicate",
    "Rule",
    "Table",
    "connect",
    "connect_async",
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


def __getattr__(name: str) -> Any:
    """Import the network and Spark on first use: they are large."""
    if name in ("connect", "connect_async"):
        return getattr(import_module("cbnet.network"), name)
    if name == "spark":
        return import_module("cbnet.spark")
    raise AttributeError(f"module 'cbnet' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names."""
    return [*__all__, "__version__", "spark"]
