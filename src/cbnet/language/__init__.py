"""The predicate language: values, messages, predicates, and relations between predicates."""

from cbnet.language.constraint import Constraint, Op
from cbnet.language.dialects import DIALECTS, parse
from cbnet.language.filter import Descriptor, Filter
from cbnet.language.message import Message
from cbnet.language.predicate import Limits, Predicate
from cbnet.language.relations.covering import covers, overlaps, satisfiable
from cbnet.language.relations.reduction import disjunction_advantage, reduce, size
from cbnet.language.relations.witness import Search, counterexample, search_counterexample, witness
from cbnet.language.syntax.json_form import message_from_json, message_to_json, predicate_from_json, predicate_to_json
from cbnet.language.syntax.parser import parse_filter

__all__ = [
    "DIALECTS", "Constraint", "Descriptor", "Filter", "Limits", "Message", "Op", "Predicate", "Search",
    "counterexample", "covers", "disjunction_advantage", "message_from_json", "message_to_json", "overlaps", "parse",
    "parse_filter", "predicate_from_json", "predicate_to_json", "reduce", "satisfiable", "search_counterexample",
    "size", "witness",
]  # fmt: skip
