"""Advice: what did the writer of a wrong predicate mean, and how is that written here?"""

from __future__ import annotations

from collections.abc import Sequence

from cbnet.language.notation import BARE_NAME, format_value
from cbnet.language.syntax.lexer import Token, TokenType

_OPERATORS = {
    "==": "=", "===": "=", "!==": "!=", "<>": "!=", "=>": ">=", "=<": "<=", "~": "*=", "~=": "*=",
    "=~": "*=", "^": "^=", "$": "$=", "*": "*=",
    "=^": "^=", "=$": "$=", "=*": "*=", "!": "!=", "<=>": "=", "**": "*=",
}  # fmt: skip
_WORDS = {
    "like": "*=", "ilike": "*=", "contains": "*=", "matches": "*=", "regexp": "*=", "rlike": "*=",
    "startswith": "^=", "starts": "^=", "starts_with": "^=", "beginswith": "^=", "prefix": "^=",
    "endswith": "$=", "ends": "$=", "ends_with": "$=", "suffix": "$=",
    "is": "=", "eq": "=", "equals": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
_ALL_OPERATORS = "= != < <= > >= ^= $= *="


def operator_hint(operator: str) -> str:
    """Say what to write instead of an unknown operator."""
    if operator in ("&&", "&", "||", "|"):
        return f"write `{'and' if '&' in operator else 'or'}`, after a whole constraint"
    if operator in _OPERATORS:
        return f"write `{_OPERATORS[operator]}`"
    return f"write one of {_ALL_OPERATORS}"


def after_name_hint(tokens: Sequence[Token]) -> str:
    """Say what to write where a name is not followed by an operator; `tokens` starts at the name."""
    name, token, *rest = tokens
    word = token.text.lower()
    following = [other.text.lower() for other in rest]
    if name.text.lower() == "exists" and _is_name(token):
        return f"write `exists {token.text}`, in lower case"
    if name.text.lower() in ("true", "false") and token.type is not TokenType.VALUE:
        return f"write `{name.text.lower()}`"
    if word == "is" and following[:2] == ["not", "null"]:
        return f"write `exists {name.text}`"
    if word == "is" and following[:1] == ["null"]:
        return "absence cannot be asked for; say what must be there"
    if token.type is TokenType.NAME and word in _WORDS:
        return f"write `{_WORDS[word]}`"
    if word == "in":
        return f"write `{name.text} = … or {name.text} = …`, once for each value"
    if word == "between":
        return f"write `{name.text} >= … and {name.text} <= …`"
    if word == "not":
        opposite = (
            "there is no opposite of that" if set(following[:1]) & _WORDS.keys() else f"write one of {_ALL_OPERATORS}"
        )
        return f"there is no negation; {opposite}"
    return f"write `exists {name.text}` for any value, or one of {_ALL_OPERATORS} and a value"


def value_hint(token: Token) -> str:
    """Say what to write where a value should stand."""
    if token.text in ("True", "TRUE", "False", "FALSE"):
        return f"write `{token.text.lower()}`"
    if token.text.lower() in ("null", "none", "nil", "undefined"):
        return "a message cannot hold null, and absence cannot be asked for; write `exists name` for presence"
    if token.text.lower() in ("nan", "inf", "infinity"):
        return "NaN and infinity are not values"
    if token.type in (TokenType.NAME, TokenType.KEYWORD):
        quoted = format_value(token.value)
        return f"write {quoted} if it is a string; attributes cannot be compared with each other"
    if token.type is TokenType.OPERATOR:
        return f"write one operator only: {_ALL_OPERATORS}"
    return 'write a "string", a number, true or false'


def name_hint(tokens: Sequence[Token]) -> str:
    """Say what to write where an attribute's name should stand."""
    token = tokens[0]
    if token.type is TokenType.VALUE and len(tokens) == 3 and tokens[1].text in _MIRRORED and _is_name(tokens[2]):
        return f"write the name first: `{tokens[2].text} {_MIRRORED[tokens[1].text]} {token.text}`"
    if token.type is TokenType.VALUE and isinstance(token.value, str):
        return f"write {_as_name(token.value)} for a name; only strings stand in double quotes"
    if token.type is TokenType.OPEN:
        return "write `exists name`, without parentheses"
    if token.text in ("and", "or") and tokens[1].type is not TokenType.OPERATOR:
        return f"write `{token.text}` once, between two constraints"
    if token.type is TokenType.KEYWORD:
        return f"`{token.text}` is a keyword: write it in backquotes to use it as a name"
    return "write a constraint such as `price < 500`, `exists price` or `#tag`"


def negation_hint(tokens: Sequence[Token]) -> str:
    """Say what to write instead of `not` before these tokens."""
    if len(tokens) >= 3 and _is_name(tokens[0]) and tokens[1].text in _OPPOSITE and tokens[2].type is TokenType.VALUE:
        name, operator, value = (token.text for token in tokens[:3])
        return f"write `{name} {_OPPOSITE[operator]} {value}`"
    if len(tokens) >= 2 and _is_name(tokens[0]) and tokens[1].text in ("^=", "$=", "*="):
        return f"there is no opposite of `{tokens[1].text}`; say what must be there"
    if tokens and (tokens[0].type is TokenType.TAG or tokens[0].text == "exists"):
        return "absence cannot be asked for; say what must be there"
    if tokens and tokens[0].type is TokenType.OPEN:
        return "write the opposite of each constraint inside (= for !=, < for >=), and swap `and` with `or`"
    return "write the opposite operator: != for =, >= for <, <= for >"


def trailing_hint(before: Sequence[Token], rest: Sequence[Token]) -> str:
    """Say what to write where a conjunction should go on: up to three tokens before, and those from there on."""
    token = rest[0]
    if token.text in ("AND", "And", "&&", "&"):
        return "write `and`"
    if token.text in ("OR", "Or", "||", "|"):
        return "write `or`"
    if token.type is TokenType.OPERATOR and len(before) >= 2 and before[-2].text == "exists":
        return f"drop `exists`: write `{before[-1].text} {token.text} …`"
    if token.type is TokenType.OPERATOR and len(before) == 3 and len(rest) > 1:
        return f"write two constraints: `… and {before[0].text} {token.text} {rest[1].text}`"
    return "join constraints with `and`, filters with `or`"


def _is_name(token: Token) -> bool:
    return token.type is TokenType.NAME


def _as_name(text: str) -> str:
    return f"`{text}`" if BARE_NAME.fullmatch(text) else f"`` `{text}` ``"
