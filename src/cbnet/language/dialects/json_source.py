"""Rules that are JSON: text or objects that were read already."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cbnet.errors import InputError
from cbnet.language.dialects import RuleSource


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
