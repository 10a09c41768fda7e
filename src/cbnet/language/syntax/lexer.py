"""Lexer for predicates: text to tokens, with their positions, and a reader of tokens.

Linear in the length of the text. Every character belongs to a token, or is an error with a hint.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple, TypeVar

from cbnet.errors import InputError, LimitError, PredicateSyntaxError, ValueDomainError
from cbnet.language.timestamps import read_duration
from cbnet.language.values import KEYWORDS, NAME, Value, canonical, validate_value

_Input = TypeVar("_Input")
_Result = TypeVar("_Result")


class TokenType(Enum):
    """The type of a token."""

    KEYWORD = auto()
    NAME = auto()
    VALUE = auto()
    OPERATOR = auto()
    TAG = auto()
    SIGN = auto()  # + - / of arithmetic; * is an operator
    COMMA = auto()
    OPEN = auto()
    CLOSE = auto()
    END = auto()


class Token(NamedTuple):
    """A token of a text: its kind, decoded value, position and spelling."""

    kind: TokenType | str  # a string in the dialects that are like SQL
    value: Value
    position: int
    text: str


class TokenReader:
    """The tokens of a text, the last of which marks its end, with a position, and errors at them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._next = 0
        self._tokens: list[Token] = []
        self._lexical_error: PredicateSyntaxError | None = None  # a syntax error before it is reported first

    def located(self, token: Token, check: Callable[[_Input], _Result], value: _Input) -> _Result:
        """Return the result of a check; an error gets the position of the token."""
        try:
            return check(value)
        except InputError as error:
            raise self.error_at(token, error.problem, error.hint) from None

    def error_at(self, token: Token, problem: str, hint: str | None) -> PredicateSyntaxError:
        """Return an error at a token, also for what is found in the tree."""
        return PredicateSyntaxError(problem, self._text, token.position, length=len(token.text), hint=hint)

    def limit_error(self, error: LimitError, position: int) -> InputError:
        """Return an error with a location in the text."""
        location = PredicateSyntaxError("", self._text, position)
        return error.at(line=location.line, column=location.column)

    def _peek(self, ahead: int = 0) -> Token:
        return self._tokens[self._next + ahead]

    def _take(self) -> Token:
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return self._tokens[self._next - 1]

    def _error(self, problem: str, token: Token | None = None, *, hint: str | None = None) -> PredicateSyntaxError:
        """Return an error at a token, or at the next one; that of the lexer if this is the end."""
        if self._lexical_error and self._next == len(self._tokens) - 1:
            return self._lexical_error
        return self.error_at(token or self._peek(), problem, hint)


_TOKEN = re.compile(
    rf"""(?P<space>\s+)
    | (?P<word>{NAME.pattern})
    | (?P<tag>\#(?:[A-Za-z_][A-Za-z0-9_.-]*|"(?:[^"\\\n]|\\.)*"))
    | (?P<string>"(?:[^"\\\n]|\\.)*")
    | (?P<backquoted>`(?:[^`\\\n]|\\.)*`)
    | (?P<number>[-+]?\.?[0-9](?:[eE][-+](?=[0-9])|[\w.])*)
    | (?P<operator>[=!<>^$*~&|]+)
    | (?P<sign>[-+/])
    | (?P<comma>,)
    | (?P<open>\()
    | (?P<close>\))""",
    re.VERBOSE,
)
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_SIMPLE_ESCAPES = {
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "b": "\b",
    "f": "\f",
    "/": "/",
    "\\": "\\",
    '"': '"',
    "`": "`",
}
_WORD_OPERATORS = frozenset({"div", "mod"})
_OPERANDS = frozenset({TokenType.NAME, TokenType.VALUE, TokenType.CLOSE})
_TYPES = {
    "sign": TokenType.SIGN, "comma": TokenType.COMMA, "open": TokenType.OPEN, "close": TokenType.CLOSE,
}  # fmt: skip
_MAX_DIGITS = 400  # more digits than any finite float has

_STRAY = {
    '"': (
        "unclosed quote",
        'end the string with `"`; inside it write \\" for a quote, \\n for a new line',
    ),
    "`": ("unclosed backquote", "end the name with a backquote"),
    "'": ("strings need double quotes", "write \"…\" instead of '…'"),
    "#": ("a tag needs a name", 'write #name, or #"any text"'),
    "[": ("unexpected `[`", "write items[0] for an item, all items (…) for a test of each, (1, 2) for a list"),
    ";": ("unexpected semicolon", "write `or` between filters"),
    "“": ("typographic quotes are not supported", 'write plain double quotes: "…"'),
    "”": ("typographic quotes are not supported", 'write plain double quotes: "…"'),
}


def tokenize(text: str) -> tuple[list[Token], PredicateSyntaxError | None]:
    """Return the tokens of a text, with an END token after the last, and the error that stopped the lexer.

    The error is returned, not raised: a syntax error before it is reported first.
    """
    tokens: list[Token] = []
    position = 0
    follows_operand = False
    error = None
    try:
        text.encode()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise _stray(text, position)
            if match.lastgroup == "number" and match[0][0] in "-+" and follows_operand:
                tokens.append(Token(TokenType.SIGN, match[0][0], position, match[0][0]))  # `x -1` is a difference
                follows_operand = False
                position += 1
                continue
            if match.lastgroup != "space":
                token = _token(match, text)
                is_operator = follows_operand and token.text in _WORD_OPERATORS  # in `x div -1`, -1 is a number
                follows_operand = token.kind in _OPERANDS and not is_operator
                tokens.append(token)
            position = match.end()
    except PredicateSyntaxError as stop:
        error = stop
    except UnicodeEncodeError as stop:
        hint = "the text must be valid Unicode (UTF-8)"
        error = PredicateSyntaxError("half of a surrogate pair", text, stop.start, hint=hint)
    tokens.append(Token(TokenType.END, "", position, ""))
    return tokens, error


def _token(match: re.Match[str], text: str) -> Token:
    group, word, position = match.lastgroup, match.group(), match.start()
    if group == "word" and word in ("true", "false", "null"):
        return Token(TokenType.VALUE, None if word == "null" else word == "true", position, word)
    if group == "word":
        return Token(TokenType.KEYWORD if word in KEYWORDS else TokenType.NAME, word, position, word)
    if group == "number":
        return Token(TokenType.VALUE, _number(word, text, position), position, word)
    if group == "operator":
        return Token(TokenType.OPERATOR, word, position, word)
    if group == "string":
        return Token(TokenType.VALUE, _unescaped(word[1:-1], text, position + 1), position, word)
    if group == "backquoted":
        return Token(TokenType.NAME, _unescaped(word[1:-1], text, position + 1), position, word)
    if group == "tag":
        label = _unescaped(word[2:-1], text, position + 2) if word.startswith('#"') else word[1:]
        return Token(TokenType.TAG, label, position, word)
    return Token(_TYPES[str(group)], word, position, word)


def _number(word: str, text: str, position: int) -> Value:
    is_number = _JSON_NUMBER.fullmatch(word)
    duration = None if is_number or len(word) > _MAX_DIGITS else read_duration(word)
    if not is_number and duration is None:
        raise PredicateSyntaxError(
            f"`{_shortened(word)}` is not a number",
            text,
            position,
            length=len(word),
            hint="write digits with `.` and `e` as in -12, 0.5 or 1e9; strings need double quotes",
        )
    is_integer = word.lstrip("-").isdigit()
    try:
        if duration is not None:
            return validate_value(duration, _shortened(word))
        if is_integer and len(word) <= _MAX_DIGITS:
            return validate_value(int(word), _shortened(word))
        return canonical(validate_value(10**_MAX_DIGITS if is_integer else float(word), _shortened(word)))
    except ValueDomainError as error:
        raise PredicateSyntaxError(error.problem, text, position, length=len(word), hint=error.hint) from None


def _unescaped(raw: str, text: str, position: int) -> str:
    """Return a quoted `raw`, at `position` in `text`, with its escapes decoded."""

    def decode(match: re.Match[str]) -> str:
        escape = match.group()
        if len(escape) == 2 and escape[1] in _SIMPLE_ESCAPES:
            return _SIMPLE_ESCAPES[escape[1]]
        units = bytes.fromhex(escape.replace("\\u", "")) if len(escape) > 2 else b""
        try:
            if units:
                return units.decode("utf-16-be")
        except UnicodeDecodeError:
            problem, hint = (
                f"`{escape}` is half of a surrogate pair",
                "write both halves, as in \\ud83d\\ude00",
            )
        else:
            problem, hint = (
                f"unknown escape `{escape}`",
                'write \\\\ for a backslash; the escapes are \\" \\n \\r \\t \\b \\f \\uXXXX',
            )
        raise PredicateSyntaxError(problem, text, position + match.start(), length=len(escape), hint=hint)

    return _ESCAPE.sub(decode, raw) if "\\" in raw else raw


def _stray(text: str, position: int) -> PredicateSyntaxError:
    char = text[position]
    if char == "#" and text[position + 1 : position + 2] == '"':
        problem, hint = _STRAY['"']
    elif char == "#" and (label := re.match(r"#([^\s()\"]+)", text[position : position + 60])):
        problem, hint = f"`{label[0]}` needs quotes to be a tag", f'write #"{label[1]}"'
    elif char.isalpha():
        problem, hint = f"a name with `{char}` needs backquotes", "write `` `…` ``"
    else:
        problem, hint = _STRAY.get(
            char, (f"unexpected character {char!r}", "strings need double quotes, such names backquotes")
        )
    return PredicateSyntaxError(problem, text, position, hint=hint)


def _shortened(word: str) -> str:
    return word if len(word) <= 24 else word[:20] + "…"
