"""Dialects: rules of other systems, translated to predicates.

Each dialect is a module with `formula(source)`, which returns the `language.formula.Formula` of a rule. What a dialect
has and the language has not is refused at its place, with the reason. `str(parse(source, dialect=…))` is the
translation.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeAlias

from cbnet.errors import InputError
from cbnet.language.formula import predicate_of
from cbnet.language.predicate import DEFAULT_LIMITS, Limits, Predicate, validate_limits
from cbnet.language.syntax import parser

RuleSource: TypeAlias = str | Mapping[str, Any] | list[Any]  # text, or JSON that was read already

CBNET = "cbnet"
_MODULES = {
    "eventbridge": "cbnet.language.dialects.eventbridge",
    "cloudevents": "cbnet.language.dialects.cloudevents",
    "cesql": "cbnet.language.dialects.cesql",
    "selector": "cbnet.language.dialects.selector",
}
DIALECTS = (CBNET, *_MODULES)


def parse(text: RuleSource, limits: Limits = DEFAULT_LIMITS, *, dialect: str = CBNET) -> Predicate:
    """Return the predicate of a text.

    dialect: "cbnet"; "eventbridge" (event patterns), "cloudevents" (subscription filters), "cesql" (CloudEvents SQL) or
    "selector" (SQL selectors of JMS and AMQP brokers). Patterns that are JSON may be given as text or as objects.
    """
    validate_limits(limits)
    check_dialect(dialect)
    if dialect == CBNET:
        return parser.parse(text, limits)  # type: ignore[arg-type]  # it refuses what is not text
    if isinstance(text, str):
        limits.check_text(text)
    return predicate_of(import_module(_MODULES[dialect]).formula(text), limits)


def check_dialect(dialect: object) -> None:
    """Raise an error unless there is such a dialect."""
    if dialect not in DIALECTS:
        raise InputError(f"unknown dialect {dialect!r}", hint="use one of " + ", ".join(DIALECTS))
