"""Hints for invalid predicates: the equivalents of notations from other languages."""

from __future__ import annotations

from collections.abc import Sequence

from cbnet.language.syntax.lexer import Token, TokenType
from cbnet.language.values import BARE_NAME, FOREIGN_NULLS, FOREIGN_VALUES, format_value

_OPERATORS = {
    "==": "=", "===": "=", "!==": "!=", "<>": "!=", "=>": ">=", "=<": "<=", "^": "^=", "$": "$=", "*": "*=",
    "=^": "^=", "=$": "$=", "=*": "*=", "!": "!=", "<=>": "=", "**": "*=",
}  # fmt: skip
_WORDS = {
    "contains": "*=",
    "startswith": "^=", "starts": "^=", "starts_with": "^=", "beginswith": "^=", "prefix": "^=",
    "endswith": "$=", "ends": "$=", "ends_with": "$=", "suffix": "$=",
    "is": "=", "eq": "=", "equals": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
_QUANTIFIERS = {
    "any": "`count({0} (…)) >= 1`", "some": "`count({0} (…)) >= 1`", "every": "`all {0} (…)`", "each": "`all {0} (…)`",
    "all": "`all {0} (…)`", "none": "`none {0} (…)`",
}  # fmt: skip
_REGEX_OPERATORS = frozenset({"~", "~=", "regexp", "rlike", "matches", "match", "regex"})
_PATTERN_OPERATORS = frozenset({"ilike", "glob", "similar"})
_REGEX_HINT = "write `=~` and a regular expression, which may occur anywhere in the string unless ^ or $ is in it"
_ALL_OPERATORS = "= != < <= > >= ^= $= *="


def operator_hint(tokens: Sequence[Token]) -> str:
    """Return the hint for an unknown operator; `tokens` starts at the attribute's name."""
    operator = tokens[1].text
    if operator in ("&&", "&", "||", "|"):
        return f"write `{'and' if '&' in operator else 'or'}`, after a whole constraint"
    if operator in _REGEX_OPERATORS:
        return _REGEX_HINT
    if operator == "!~":
        return f"write `not ({tokens[0].text} =~ …)`"
    if operator in _OPERATORS:
        return f"write `{_OPERATORS[operator]}`"
    return f"write one of {_ALL_OPERATORS}"


def after_name_hint(tokens: Sequence[Token]) -> str:
    """Return the hint for a name that no operator follows; `tokens` starts at the name."""
    name, token, *rest = tokens
    word = token.text.lower()
    following = [other.text.lower() for other in rest]
    if name.text.lower() == "exists" and _is_name(token):
        return f"write `exists {token.text}`, in lower case"
    if name.text.lower() in ("true", "false") and token.kind is not TokenType.VALUE:
        return f"write `{name.text.lower()}`"
    if name.text.lower() in _QUANTIFIERS and _is_name(token):
        return f"write {_QUANTIFIERS[name.text.lower()].format(token.text)}"
    if word == "is" and following[:2] == ["not", "null"]:
        return f"write `{name.text} != null`"
    if word == "is" and following[:1] == ["null"]:
        return f"write `{name.text} = null` for a null value, `absent {name.text}` for no value"
    if word in ("in", "like"):
        return f"write `{word}`, in lower case"
    if _is_name(token) and word in _REGEX_OPERATORS:
        return _REGEX_HINT
    if _is_name(token) and word in _PATTERN_OPERATORS:
        return "write `like` with % and _, `lower(…)` where the case does not matter, or `=~` and a regular expression"
    if _is_name(token) and word in _WORDS:
        return f"write `{_WORDS[word]}`"
    if word == "between":
        return f"write `{name.text} >= … and {name.text} <= …`"
    if word == "not":
        return "write `not` before the whole comparison, or `not in` and `not like`"
    return f"write `exists {name.text}` for any value, or one of {_ALL_OPERATORS} and a value"


def value_hint(token: Token) -> str:
    """Return the hint for a token where a value is expected."""
    if token.text in ("True", "TRUE", "False", "FALSE"):
        return f"write `{token.text.lower()}`"
    if token.text in FOREIGN_NULLS:
        return "write `null`, or `absent name` if there must be no value"
    if token.text in FOREIGN_VALUES:
        return "NaN and infinity are not values"
    if token.kind in (TokenType.NAME, TokenType.KEYWORD):
        return f"write {format_value(token.value)} if it is a string, `` `{token.text}` `` if it is a name"
    if token.kind is TokenType.OPERATOR:
        return f"write one operator only: {_ALL_OPERATORS}"
    return 'write a "string", a number, true, false or null'


def name_hint(tokens: Sequence[Token]) -> str:
    """Return the hint for tokens where an attribute's name is expected."""
    token = tokens[0]
    if token.kind is TokenType.VALUE and isinstance(token.value, str):
        name = f"`{token.value}`" if BARE_NAME.fullmatch(token.value) else f"`` `{token.value}` ``"
        return f"write {name} for a name; double quotes are for strings only"
    if token.kind is TokenType.OPEN:
        return "write `exists name`, without parentheses"
    if token.text in ("and", "or") and tokens[1].kind is not TokenType.OPERATOR:
        return f"write `{token.text}` once, between two constraints"
    if token.kind is TokenType.KEYWORD:
        return f"`{token.text}` is a keyword: write it in backquotes to use it as a name"
    return "write a constraint such as `price < 500`, `exists price` or `#tag`"


def trailing_hint(before: Sequence[Token], rest: Sequence[Token]) -> str:
    """Return the hint for a token where `and`, `or` or the end is expected; `before` holds up to three tokens."""
    token = rest[0]
    if token.text in ("AND", "And", "&&", "&"):
        return "write `and`"
    if token.text in ("OR", "Or", "||", "|"):
        return "write `or`"
    if token.kind is TokenType.OPERATOR and len(before) >= 2 and before[-2].text == "exists":
        return f"drop `exists`: write `{before[-1].text} {token.text} …`"
    if token.kind is TokenType.OPERATOR and len(before) == 3 and len(rest) > 1:
        return f"write two constraints: `… and {before[0].text} {token.text} {rest[1].text}`"
    return "join constraints with `and`, filters with `or`"


def _is_name(token: Token) -> bool:
    return token.kind is TokenType.NAME
