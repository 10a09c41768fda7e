"""Rules that are JSON: text or objects that were read already.

A dialect reports a mistake by its path, as in `detail.price[1].numeric`; in a text it also gets its line and column.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from cbnet.errors import InputError, PatternError
from cbnet.language.dialects import RuleSource
from cbnet.language.syntax.text_positions import TextPositions

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
    try:
        return json.loads(source, object_pairs_hook=_unique_members)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", line=error.lineno, column=error.colno) from None
    except InputError:
        raise
    except (RecursionError, ValueError):
        raise InputError("JSON too deeply nested, or a number too long", hint="simplify the rule") from None


def _unique_members(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"the key {twice!r} occurs twice in an object", hint="keep one of them")
    return members


def _located(error: PatternError, text: str) -> InputError:
    positions = TextPositions(text)
    try:
        positions.read_json(len(text) - len(text.lstrip()))
    except RecursionError:  # the mistake is the depth
        return error
    line, column = positions.place(positions.of(error.path))
    return error.at(line=line, column=column)
