"""Subscription filters of CloudEvents: exact, prefix, suffix, all, any, not, sql.

    {"all": [{"exact": {"type": "order.paid"}}, {"not": {"prefix": {"subject": "test/"}}}]}

    type = "order.paid" and (subject ^= "test/") is not true

All filters of a subscription's list must hold. A filter is true or false: it is false if the event lacks the attribute,
or an SQL expression has an error, and `not` is true then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cbnet.errors import InputError, PatternError
from cbnet.language.condition import Test
from cbnet.language.dialects import Path, RuleSource, cesql, checked, translate_json
from cbnet.language.dialects.event_attributes import check_attribute, has_text, text_is_like
from cbnet.language.formula import NOT_TRUE, AllOf, AnyOf, Formula, Is
from cbnet.language.like_pattern import escape_pattern
from cbnet.language.values import type_name, validate_text

_MAX_NESTING = 64


def formula(source: RuleSource) -> Formula:
    """Return the formula of a filter, or of the list of filters of a subscription."""

    def filters(found: object) -> Formula:
        if isinstance(found, list):
            return AllOf(tuple(_filter(each, (number,)) for number, each in enumerate(found)))
        return _filter(found, ())

    return translate_json(source, filters)


def _filter(found: object, path: Path) -> Formula:
    if len(path) > _MAX_NESTING:
        raise PatternError(f"nested deeper than {_MAX_NESTING} levels", path[:3], hint="split the filter")
    hint = f"write one of {', '.join(_DIALECTS)}"
    if not isinstance(found, Mapping):
        raise PatternError(f"expected a filter, not {type_name(found)}", path, hint='write {"exact": {"type": "…"}}')
    if len(found) != 1:
        raise PatternError(f"a filter has one dialect, not {len(found)}", path, hint=hint)
    ((name, operand),) = found.items()
    if name not in _DIALECTS:
        raise PatternError(f"unknown dialect {name!r}", path, hint=hint)
    return _DIALECTS[name](operand, (*path, name))


def _attributes(test: Callable[[str, str], Test]) -> Callable[[object, Path], Formula]:
    """Return the translation of a dialect that tests the text of each attribute."""

    def translate(operand: object, path: Path) -> Formula:
        if not isinstance(operand, Mapping) or not operand:
            raise PatternError("expected an object with attributes", path, hint='write {"type": "…"}')
        return AllOf(
            tuple(
                test(checked(path, check_attribute, str(name)), _text(text, (*path, name)))
                for name, text in operand.items()
            )
        )

    return translate


def _text(text: object, path: Path) -> str:
    if not isinstance(text, str):
        raise PatternError(f"expected a string, not {type_name(text)}", path, hint="write the value in quotes")
    if not text:
        raise PatternError("the string is empty", path, hint='test for an attribute with {"sql": "EXISTS x"}')
    return checked(path, validate_text, text, "value")


def _parts(operand: object, path: Path) -> tuple[Formula, ...]:
    if not isinstance(operand, list) or not operand:
        raise PatternError("expected a list of filters", path, hint='write [{"exact": {…}}, …]')
    return tuple(_filter(each, (*path, number)) for number, each in enumerate(operand))


def _sql(operand: object, path: Path) -> Formula:
    if not isinstance(operand, str):
        raise PatternError(f"expected an expression, not {type_name(operand)}", path, hint="write it in quotes")
    try:
        return cesql.formula(operand)
    except InputError as error:
        place = f"character {error.column} of line {error.line}: " if error.line else ""
        raise PatternError(place + error.problem, path, hint=error.hint) from None


_DIALECTS: dict[Any, Callable[[object, Path], Formula]] = {
    "exact": _attributes(has_text),
    "prefix": _attributes(lambda name, text: text_is_like(name, escape_pattern(text) + "%")),
    "suffix": _attributes(lambda name, text: text_is_like(name, "%" + escape_pattern(text))),
    "all": lambda operand, path: AllOf(_parts(operand, path)),
    "any": lambda operand, path: AnyOf(_parts(operand, path)),
    "not": lambda operand, path: Is(_filter(operand, path), NOT_TRUE),
    "sql": _sql,
}
