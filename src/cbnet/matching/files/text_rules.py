"""Rules in text files: TOML and JSON Lines.

    dialect = "cbnet"                     {"dialect": "cbnet"}
    [rules]
    pager = 'severity >= 4'               {"name": "pager", "when": "severity >= 4"}
    [rules.milan]
    when = 'dest = "MXP"'                 {"name": "milan", "when": "dest = \\"MXP\\"", "priority": 10,
    priority = 10                          "metadata": {"owner": "travel"}}
    metadata = { owner = "travel" }

`when` is a text, or a list of texts that are joined with `or`, or JSON for dialects whose patterns are JSON. The
dialect of the file, on its first line in JSON Lines, holds for the rules that name none. Rules of the same name are
joined with `or`. All mistakes of a file are reported together, each with its line and column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from cbnet.errors import FileError, InputError, PatternError, PredicateSyntaxError
from cbnet.files import read_text
from cbnet.language.dialects import CBNET, check_dialect, parse
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.json_form import json_positions, read_json
from cbnet.matching.rule import Rule, RuleName, checked_name
from cbnet.text_positions import Keys, TextPositions
from cbnet.toml_files import parse_toml

_EXAMPLE = 'write {"name": "a", "when": "x = 1"}'
_JSON_DIALECTS = ("eventbridge", "cloudevents")
_MEMBERS = ("when", "priority", "metadata", "dialect")
_RENAMED = {"interfaces": "rules", "interface": "name", "predicate": "when"}  # names of version 0.1


@dataclass(frozen=True)
class RuleSet:
    """The predicates of a file by name, and its rules that have a priority or metadata."""

    predicates: dict[RuleName, Predicate]
    rules: list[Rule]


def read_rules(path: Path, dialect: str = CBNET) -> RuleSet:
    """Return the rules of a TOML or JSON Lines file; `dialect` is that of a file that names none."""
    check_dialect(dialect)
    reader = _RuleReader(dialect, is_toml=path.suffix == ".toml")
    read = reader.read_toml if reader.is_toml else reader.read_json_lines
    read(read_text(path))
    return reader.finish(str(path))


@dataclass(frozen=True)
class _Place:
    """A place in a file: the keys to it, and the positions of all keys, found on the first mistake."""

    positions: Callable[[], TextPositions]
    keys: Keys = ()

    def below(self, *keys: str | int) -> _Place:
        return _Place(self.positions, (*self.keys, *keys))

    def locate(self, error: InputError) -> InputError:
        """Return the error with the line and column of the value at this place, or of its part that is wrong."""
        positions = self.positions()
        part = error.path if isinstance(error, PatternError) else ()
        line, column = positions.place(positions.of((*self.keys, *part)))
        return error.at(line=line, column=column)

    def locate_in_text(self, error: InputError, text: str) -> InputError:
        """Return the error of a string at this place with its line and column in the file."""
        positions = self.positions()
        line, column = positions.place(positions.within(self.keys, _offset(error, text)))
        return error.at(line=line, column=column)

    def locate_key(self, error: InputError) -> InputError:
        """Return the error with the line and column of the key of this place."""
        positions = self.positions()
        line, column = positions.place(positions.keys.get(self.keys, positions.of(self.keys)))
        return error.at(line=line, column=column)


@dataclass
class _RuleReader:
    dialect: str  # of the file; empty after an unknown one: its rules are not parsed
    is_toml: bool
    filters: dict[RuleName, list[Filter]] = field(default_factory=dict)
    details: dict[RuleName, dict[str, Any]] = field(default_factory=dict)  # priority and metadata, where given
    errors: list[InputError] = field(default_factory=list)

    def finish(self, file: str) -> RuleSet:
        """Return the rules, or raise all mistakes in the order of the file."""
        if self.errors:
            located = [error.at(file=file) for error in self.errors]
            raise FileError(file, sorted(located, key=lambda error: (error.line or 0, error.column or 0)))
        predicates = {name: Predicate(filters) for name, filters in self.filters.items()}
        return RuleSet(predicates, [Rule(name, **members) for name, members in self.details.items() if members])

    def read_toml(self, source: str) -> None:
        try:
            document = parse_toml(source)
        except InputError as error:
            self.errors.append(error)
            return
        top = _Place(cache(lambda: TextPositions(source).read_toml()))
        self._check_keys(document, ("dialect", "rules"), top)
        self.dialect = self._dialect(document, top)
        rules = document.get("rules")
        if isinstance(rules, dict):
            for name, value in rules.items():
                place = top.below("rules", name)
                if not isinstance(value, dict):
                    self._add(name, {"when": value}, place, place)
                elif self._check_keys(value, _MEMBERS, place):
                    self._add(name, value, place, place.below("when"))
        elif not self.errors:
            hint = "write [rules.NAME] for each rule" if "rules" in document else "begin it with a line [rules]"
            self.errors.append(top.below("rules").locate_key(InputError("no table of rules", hint=hint)))

    def read_json_lines(self, source: str) -> None:
        is_first = True
        for number, line in enumerate(source.split("\n"), 1):
            if not line.strip():
                continue
            place = _Place(cache(lambda text=line, first=number: json_positions(text, first)))
            try:
                members = _object(line)
            except InputError as error:
                self.errors.append(error.at(line=number, column=error.column or 1))
            else:
                if is_first and members.keys() == {"dialect"}:
                    self.dialect = self._dialect(members, place)
                elif self._check_keys(members, ("name", *_MEMBERS), place):
                    self._add_row(members, place)
            is_first = False
        if is_first:
            self.errors.append(InputError("no rules", hint=_EXAMPLE, line=1, column=1))

    def _add_row(self, members: dict[str, Any], place: _Place) -> None:
        try:
            if "name" not in members:
                raise InputError("the rule has no name", hint=_EXAMPLE)
            name = checked_name(members["name"])
        except InputError as error:
            self.errors.append(place.below("name").locate(error))
        else:
            self._add(name, members, place, place.below("when"))

    def _add(self, name: RuleName, members: dict[str, Any], place: _Place, when: _Place) -> None:
        """Add a rule, or its mistakes."""
        filters, details = self.filters.setdefault(name, []), self.details.setdefault(name, {})
        if "when" not in members:
            hint = "write when = …; a name with a dot needs quotes" if self.is_toml else 'write "when": …'
            self.errors.append(place.locate_key(InputError(f"the rule {name!r} has no `when`", hint=hint)))
        for key in ("priority", "metadata"):
            if key in members:
                self._set_detail(name, details, key, members[key], place.below(key))
        if dialect := self._dialect(members, place):
            for source, at in _sources(members.get("when", []), when):
                filters.extend(self._parse(source, dialect, at))

    def _parse(self, source: Any, dialect: str, place: _Place) -> Sequence[Filter]:
        """Return the filters of a text or a pattern; none after noting its mistake."""
        try:
            return parse(source, dialect=dialect).filters
        except InputError as error:
            is_text = isinstance(source, str)
            self.errors.append(place.locate_in_text(error, source) if is_text else place.locate(error))
            return ()

    def _set_detail(self, name: RuleName, details: dict[str, Any], key: str, value: object, place: _Place) -> None:
        """Set the priority or the metadata of a rule; rules of the same name must agree."""
        try:
            checked = getattr(Rule(name, **{key: value}), key)  # type: ignore[arg-type]
            if details.setdefault(key, checked) != checked:
                raise InputError(f"the rule {name!r} has another {key} above", hint="keep one of them")
        except InputError as error:
            self.errors.append(place.locate(error))

    def _dialect(self, members: dict[str, Any], place: _Place) -> str:
        """Return the dialect that the members name, or that of the file; empty if it is unknown."""
        if "dialect" not in members:
            return self.dialect
        try:
            check_dialect(members["dialect"])
            return str(members["dialect"])
        except InputError as error:
            self.errors.append(place.below("dialect").locate(error))
            return ""

    def _check_keys(self, members: dict[str, Any], known: tuple[str, ...], place: _Place) -> bool:
        """Return whether all keys are known; note those that are not."""
        unknown = [key for key in members if key not in known]
        other = f"use {', '.join(known)}" + ("; a name with a dot needs quotes" if self.is_toml else "")
        if "when" in known and "when" not in members and members.get("dialect", self.dialect) in _JSON_DIALECTS:
            other = "put the pattern under `when`"
        for key in unknown:
            near = _RENAMED.get(key) or next(iter(get_close_matches(key, known, n=1)), None)
            hint = f"write {near}" if near in known else other
            self.errors.append(place.below(key).locate_key(InputError(f"unknown key {key!r}", hint=hint)))
        return not unknown


def _sources(when: object, place: _Place) -> Iterator[tuple[object, _Place]]:
    """Yield the texts of a list, each with its place, or the one text or JSON value."""
    if isinstance(when, list) and all(isinstance(each, str) for each in when):
        for index, text in enumerate(when):
            yield text, place.below(index)
    else:
        yield when, place


def _offset(error: InputError, text: str) -> int:
    """Return the position of an error in its text; 0 if it has none."""
    if isinstance(error, PredicateSyntaxError):
        return error.position
    if error.line is None or error.column is None:
        return 0
    return sum(len(line) + 1 for line in text.split("\n")[: error.line - 1]) + error.column - 1


def _object(line: str) -> dict[str, Any]:
    """Return the members of a JSON object."""
    members = read_json(line)
    if not isinstance(members, dict):
        raise InputError("expected a JSON object", hint=_EXAMPLE)
    return members
