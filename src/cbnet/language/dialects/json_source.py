"""Rules that are JSON: text or objects that were read already.

A dialect reports a mistake by its path, as in `detail.price[1].numeric`; in a text it also gets its line and column.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from cbnet.errors import InputError, PatternError
from cbnet.files import TextPositions
from cbnet.language.dialects import RuleSource

_Result = TypeVar("_Result")


def translate_json(source: RuleSource, translate: Callable[[Any], _Result]) -> _Result:
    """Return the translation of a rule."""
    value = read_json(source)
    try:
        return translate(value)
    except PatternError as error:
        raise (_located(error, source) if isinstance(source, str) else error) from None


def read_json(source: RuleSource) -> Any:
    """Return the JSON of a rule; raise an error with its position if the text is not JSON."""
    if not isinstance(source, str):
        return source
    is_distinct = True

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal is_distinct
        found = dict(pairs)
        is_distinct = is_distinct and len(found) == len(pairs)
        return found

    try:
        value = json.loads(source, object_pairs_hook=members)
        positions = None if is_distinct else _positions(source)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", line=error.lineno, column=error.colno) from None
    except (RecursionError, ValueError):
        raise InputError("JSON too deeply nested, or a number too long", hint="simplify the rule") from None
    if positions is not None:
        key, position = positions.repeated[0]
        line, column = positions.place(position)
        raise InputError(
            f"the key {key!r} occurs twice in an object", hint="keep one of them", line=line, column=column
        )
    return value


def _positions(text: str) -> TextPositions:
    return TextPositions(text).read_json(len(text) - len(text.lstrip()))


def _located(error: PatternError, text: str) -> InputError:
    try:
        positions = _positions(text)
    except RecursionError:  # the mistake is the depth
        return error
    line, column = positions.place(positions.of(error.path))
    return error.at(line=line, column=column)
