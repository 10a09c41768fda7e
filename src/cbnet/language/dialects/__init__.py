"""Dialects: rules of other systems, translated to predicates.

Each dialect is a module with `formula(source)`, which returns the `language.formula.Formula` of a rule. What a dialect
has and the language has not is refused at its place, with the reason. `str(parse(source, dialect=…))` is the
translation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeAlias, TypeVar

from cbnet.errors import InputError, PatternError
from cbnet.language.formula import Formula, predicate_of
from cbnet.language.predicate import DEFAULT_LIMITS, Limits, Predicate, validate_limits
from cbnet.language.syntax import parser
from cbnet.language.syntax.json_form import json_positions, read_json

RuleSource: TypeAlias = str | Mapping[str, Any] | list[Any]  # text, or JSON that was read already
Path: TypeAlias = tuple[str | int, ...]  # of a value in a pattern that is JSON
_Result = TypeVar("_Result")

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


def translate_json(source: RuleSource, translate: Callable[[Any], Formula]) -> Formula:
    """Return the translation of a rule that is JSON: text, or objects that were read already.

    `translate` reports a mistake by its path, as in `detail.price[1].numeric`; in a text, it also gets its line and
    column.
    """
    if not isinstance(source, str):
        return translate(source)
    value = read_json(source)
    try:
        return translate(value)
    except PatternError as error:
        try:
            positions = json_positions(source)
        except RecursionError:  # the mistake is the depth
            raise error from None
        line, column = positions.place(positions.of(error.path))
        raise error.at(line=line, column=column) from None


def checked(path: Path, check: Callable[..., _Result], *arguments: object) -> _Result:
    """Return the result of a check; an error gets the path."""
    try:
        return check(*arguments)
    except InputError as error:
        raise PatternError(error.problem, path, hint=error.hint) from None


def check_dialect(dialect: object) -> None:
    """Raise an error unless there is such a dialect."""
    if dialect not in DIALECTS:
        raise InputError(f"unknown dialect {dialect!r}", hint="use one of " + ", ".join(DIALECTS))
