"""Text of names, tags and constants, as the parser reads it."""

from __future__ import annotations

import re

from cbnet.language.values import Value

KEYWORDS = frozenset({"and", "or", "not", "exists", "true", "false", "null"})
# Keywords in some positions only: names that read as one there are printed in backquotes.
CONTEXTUAL_KEYWORDS = frozenset({"absent", "in", "like", "is", "div", "mod"})
BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")

_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def format_name(name: str) -> str:
    """Return an attribute's name, in backquotes if necessary."""
    if BARE_NAME.fullmatch(name) and name not in KEYWORDS and name not in CONTEXTUAL_KEYWORDS:
        return name
    return _quoted(name, "`")


def format_tag(tag: str) -> str:
    """Return a tag with its `#`, in quotes if necessary."""
    return f"#{tag}" if BARE_NAME.fullmatch(tag) else "#" + _quoted(tag, '"')


def format_value(value: Value) -> str:
    """Return the text of a constant."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quoted(value, '"') if isinstance(value, str) else repr(value)


def _quoted(text: str, quote: str) -> str:
    return quote + "".join(_escaped(char, quote) for char in text) + quote


def _escaped(char: str, quote: str) -> str:
    if char == quote:
        return "\\" + quote
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    units = char.encode("utf-16-be")  # beyond U+FFFF: two units, as in JSON
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
