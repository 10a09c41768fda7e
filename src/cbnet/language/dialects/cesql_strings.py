r"""String functions of CESQL on attributes, as far as a comparison with a constant is a test of our language.

Predicates build no strings, but whether a part of a string is a constant is a pattern:

    LEFT(x, 3) = 'abc'              x ^= "abc"
    SUBSTRING(x, 3, 2) = 'ab'       x like "__ab%"
    TRIM(x) = 'ab'                  x =~ "^\s*ab\s*$", with all white space of Unicode
    CONCAT(a, '-', b) = 'x-y'       a = "x" and b = "y"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from cbnet.language.dialects.cesql_operands import Variant, is_space
from cbnet.language.like_pattern import escape_pattern
from cbnet.language.regex_syntax import ranges_of

PARTS = frozenset({"LEFT()", "RIGHT()", "SUBSTRING()", "TRIM()"})
JOINS = frozenset({"CONCAT()", "CONCAT_WS()"})


@lru_cache(maxsize=1)
def _spaces() -> str:
    ranges = ranges_of((code, code) for code in range(0x3001) if is_space(chr(code)))
    return "".join(f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in ranges)


def trimmed_regex(text: str) -> str:
    """Return the regular expression of the strings that are a text without the white space around them."""
    escaped = re.sub(r"([][\\.^$*+?{}()|])", r"\\\1", text)
    return f"^[{_spaces()}]*{escaped}[{_spaces()}]*$"


def part_pattern(function: str, numbers: Sequence[int], text: str) -> str | None:
    """Return the pattern of `like` of the strings of which a part is a text; None if there are none."""
    escaped, size = escape_pattern(text), len(text)
    if function == "SUBSTRING()":
        return _middle_pattern(numbers[0], numbers[1] if len(numbers) > 1 else None, escaped, size)
    if size > numbers[0]:
        return None
    if size < numbers[0]:
        return escaped
    return f"{escaped}%" if function == "LEFT()" else f"%{escaped}"


def _middle_pattern(position: int, count: int | None, escaped: str, size: int) -> str | None:
    if position == 0:
        return None if size else "%"
    if position < 0:
        last = -position if count is None else min(count, -position)
        return f"%{escaped}{'_' * (-position - last)}" if size == last else None
    if size == 0:
        return f"{'_' * position}%" if count == 0 else None
    if count is not None and size > count:
        return None
    return "_" * (position - 1) + escaped + ("%" if size == count else "")


def splits(pieces: Sequence[str | Variant], text: str) -> Iterator[tuple[tuple[Variant, str], ...]]:
    """Yield the values of the attributes for which the pieces together are a text."""
    if not pieces:
        if not text:
            yield ()
        return
    first, *rest = pieces
    if isinstance(first, str):
        if text.startswith(first):
            yield from splits(rest, text[len(first) :])
        return
    for size in range(len(text) + 1):
        for found in splits(rest, text[size:]):
            yield ((first, text[:size]), *found)
