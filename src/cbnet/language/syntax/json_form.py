"""JSON forms of messages and predicates.

A message is an object; its key "#" holds the list of tags:

    {"dest": "MXP", "price": 600, "#": ["upgradeable"]}

A predicate is a list of filters, a filter a list of constraints, a constraint an object with the
columns of the predicate files: name, op, value. A tag has the op "#", and a condition is its text.

    [[{"name": "dest", "op": "in", "value": ["MXP", "LIN"]}, {"name": "vip", "op": "#"}], [{"condition": "a < b"}], …]

The members of a message are read one by one: every error has a column.
"""

from __future__ import annotations

import json
import re
from typing import Any

from cbnet.errors import InputError, MessageFormatError
from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.language.message import SHOWN_PATH, Message, check_depth
from cbnet.language.predicate import DEFAULT_LIMITS, Limits, Predicate, validate_limits
from cbnet.language.syntax.parser import parse_condition
from cbnet.language.values import RESERVED_NAME, validate_name, validate_tags, validate_value
from cbnet.text_positions import TextPositions

_TAG = "#"
_SCALARS = 'write a "string", a number as in 0.5, true, false or null'
_SPACE = re.compile(r"[ \t\r\n]*")
_TAG_LIST = re.compile(r"\[[^\[\]{}\"]*(?:\"(?:[^\"\\]|\\.)*\"[^\[\]{}\"]*)*\]", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_WORD = re.compile(r"[-+.\w]+")
_MAX_DIGITS = 400  # more digits than any finite float has


def message_from_json(text: str) -> Message:
    """Return the message of a JSON text."""
    if not isinstance(text, str):
        raise MessageFormatError(f"a message must be a string, not {text!r}", hint="decode it as UTF-8 first")
    return Message.from_dict(members_from_json(text))


def members_from_json(text: str) -> dict[str, Any]:
    """Return the members of a JSON object: checked values, and a list of tags under "#"."""
    return _Members(text).read()


def message_to_json(message: Message) -> str:
    """Return the JSON text of a message."""
    return json.dumps(message.to_dict(), ensure_ascii=False)


def predicate_to_json(predicate: Predicate) -> str:
    """Return the JSON text of a predicate."""
    return json.dumps([_filter_members(filter) for filter in predicate.filters], ensure_ascii=False)


def predicate_from_json(text: str, limits: Limits = DEFAULT_LIMITS) -> Predicate:
    """Return the predicate of a JSON text, in the form of `predicate_to_json`."""
    validate_limits(limits).check_text(text)
    filters = read_json(text, MessageFormatError)
    if not isinstance(filters, list) or not all(isinstance(filter, list) for filter in filters):
        raise MessageFormatError("a predicate must be a list of lists of constraints", hint='write [[{"name": …}], …]')
    limits.check_size(len(filters), sum(map(len, filters)))
    return Predicate(_filter_from_members(members, number) for number, members in enumerate(filters, 1))


def read_json(text: str, kind: type[InputError] = InputError) -> Any:
    """Return the value of a JSON text; raise an error with its position if a key is repeated, or it is not JSON."""
    is_distinct = True

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal is_distinct
        found = dict(pairs)
        is_distinct = is_distinct and len(found) == len(pairs)
        return found

    try:
        value = json.loads(text, object_pairs_hook=members)
        positions = None if is_distinct else json_positions(text)
    except json.JSONDecodeError as error:
        raise kind(f"not JSON: {error.msg}", line=error.lineno, column=error.colno) from None
    except (RecursionError, ValueError):
        raise kind("JSON too deeply nested, or a number too long", hint="simplify it") from None
    if positions is not None:
        key, position = positions.repeated[0]
        line, column = positions.place(position)
        raise kind(f"the key {key!r} occurs twice in an object", hint="keep one of them", line=line, column=column)
    return value


def json_positions(text: str, first_line: int = 1) -> TextPositions:
    """Return the positions of the keys and values of a JSON text."""
    return TextPositions(text, first_line).read_json(len(text) - len(text.lstrip()))


def _filter_members(filter: Filter) -> list[dict[str, Any]]:
    constraints = [_constraint_members(constraint) for constraint in filter.written_constraints]
    conditions = [{"condition": condition.text} for condition in filter.conditions]
    return constraints + conditions + [{"name": tag, "op": _TAG} for tag in sorted(filter.tags)]


def _constraint_members(constraint: Constraint) -> dict[str, Any]:
    value = {} if constraint.op is Op.EXISTS else {"value": constraint.value}
    return {"name": constraint.name, "op": constraint.op.value, **value}


def _filter_from_members(members: list[Any], number: int) -> Filter:
    parts = [_part(member, f"filter {number}, constraint {index}") for index, member in enumerate(members, 1)]
    tags = [tag for part in parts for tag in part.tags]
    constraints = (constraint for part in parts for constraint in part.constraints)
    return Filter(constraints, tags, (condition for part in parts for condition in part.conditions))


def _part(member: Any, where: str) -> Filter:
    """Return the filter of one constraint or tag; `where` locates its error."""
    try:
        return _checked_part(member)
    except InputError as error:
        raise MessageFormatError(f"{where}: {error.problem}", hint=error.hint) from None


def _checked_part(member: Any) -> Filter:
    if isinstance(member, dict) and member.keys() == {"condition"} and isinstance(member["condition"], str):
        return Filter(conditions=[parse_condition(member["condition"])])
    if not isinstance(member, dict) or not {"name", "op"} <= member.keys() <= {"name", "op", "value"}:
        problem = f"not a constraint: {json.dumps(member)[:60]}"
        raise MessageFormatError(problem, hint='write {"name": …, "op": …, "value": …}')
    if member["op"] == _TAG and "value" in member:
        raise MessageFormatError("a tag has no value", hint='write {"name": "the tag", "op": "#"}')
    if member["op"] == Op.EXISTS.value and "value" in member:
        raise MessageFormatError("`exists` takes no value", hint='write {"name": …, "op": "exists"}')
    return Filter(tags=[member["name"]]) if member["op"] == _TAG else Filter([Constraint(**member)])


class _Members:
    """A reader of one JSON object, from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self) -> dict[str, Any]:
        self._skip()
        if self._text[self._at : self._at + 1] != "{":
            raise self._error("expected a JSON object", self._at, 'write {"name": value, …}')
        members = self._object("", 1)
        if self._at < len(self._text):
            raise self._error("text after the object", self._at, "write one object per line")
        return members

    def _object(self, path: str, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        self._enter("{", path, depth)
        more = not self._accept("}")
        while more:
            start = self._at
            name = self._name()
            if name in members:
                quoted = json.dumps(name, ensure_ascii=False)
                raise self._error(f"duplicate name {quoted}", start, "keep one of them")
            self._expect(":", "expected `:` after a name")
            is_tags = name == RESERVED_NAME and depth == 1
            members[name] = (
                self._tags() if is_tags else self._value(f"{path[:SHOWN_PATH]}.{name}" if path else name, depth)
            )
            more = self._accept(",")
            if not more:
                self._expect("}", "expected `,` or `}`")
        return members

    def _array(self, path: str, depth: int) -> list[Any]:
        values: list[Any] = []
        self._enter("[", path, depth)
        more = not self._accept("]")
        while more:
            values.append(self._value(path, depth))
            more = self._accept(",")
            if not more:
                self._expect("]", "expected `,` or `]`")
        return values

    def _enter(self, opening: str, path: str, depth: int) -> None:
        self._checked(self._at, check_depth, path, depth)
        self._expect(opening, f"expected `{opening}`")

    def _value(self, path: str, depth: int) -> Any:
        self._skip()
        start = self._at
        first = self._text[start : start + 1]
        if first == "{":
            return self._object(path, depth + 1)
        if first == "[":
            return self._array(path, depth + 1)
        scalar = self._string() if first == '"' else self._word()
        return self._checked(start, validate_value, scalar, path)

    def _name(self) -> str:
        self._skip()
        if self._text[self._at : self._at + 1] != '"':
            raise self._error("expected a name in double quotes", self._at)
        start = self._at
        name = str(self._string())
        return name if name == RESERVED_NAME else str(self._checked(start, validate_name, name))

    def _string(self) -> Any:
        match = _STRING.match(self._text, self._at)
        if match is None:
            raise self._error("unclosed quote", self._at, 'write `"` at the end of the string')
        return self._decoded(match.group())

    def _word(self) -> Any:
        match = _WORD.match(self._text, self._at)
        if match is None:
            raise self._error("a value is missing", self._at, _SCALARS)
        if match.group().lstrip("-").isdigit() and len(match.group()) > _MAX_DIGITS:
            self._at = match.end()
            return 10**_MAX_DIGITS  # out of range, like the number in the text
        return self._decoded(match.group())

    def _tags(self) -> Any:
        match = _TAG_LIST.match(self._text, self._at)
        if match is None:
            raise self._error("the tags must be a list of strings", self._at, 'write "#": ["a", "b"]')
        start = self._at
        return self._checked(start, validate_tags, self._decoded(match.group()))

    def _decoded(self, token: str) -> Any:
        try:
            value = json.loads(token)
        except json.JSONDecodeError as error:
            raise self._error(f"not JSON: {error.msg}", self._at + error.pos, _SCALARS) from None
        self._at += len(token)
        return value

    def _checked(self, start: int, check: Any, *arguments: Any) -> Any:
        try:
            return check(*arguments)
        except InputError as error:
            raise self._error(error.problem, start, error.hint) from None

    def _expect(self, char: str, problem: str, hint: str | None = None) -> None:
        if not self._accept(char):
            raise self._error(problem, self._at, hint)

    def _accept(self, char: str) -> bool:
        self._skip()
        accepted = self._text[self._at : self._at + 1] == char
        if accepted:
            self._at += 1
            self._skip()
        return accepted

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._at)
        assert match is not None
        self._at = match.end()

    def _error(self, problem: str, position: int, hint: str | None = None) -> MessageFormatError:
        line = self._text.count("\n", 0, position) + 1
        column = position - self._text.rfind("\n", 0, position)
        return MessageFormatError(problem, hint=hint, line=line, column=column)
