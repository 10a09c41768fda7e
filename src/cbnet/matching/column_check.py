"""What rules test of columns that no row can pass: of a data frame, a file of columns, or a DataFrame of Spark.

    rule cheap: no column 'prise'; did you mean 'price'?
    rule old: fw = "1.2": the column 'fw' holds numbers, as inferred from its cells; state its type: --types fw=string
    rule open: dest = null: a null cell is an absent attribute; write absent dest
    rule free: absent price: the column 'price' has no nulls

Rules for other kinds of messages are normal, so this is a warning, unless the caller wants an error. What is most
probably a mistake comes first: a name that is nearly that of a column, then types, then all other names.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

import numpy as np
import pyarrow as pa

from cbnet.errors import ColumnWarning, FileError, InputError
from cbnet.language.computed import ITEM_NAME, computed
from cbnet.language.condition import Condition, Outcome, Presence
from cbnet.language.relations.type_check import ALL_TYPES, Types, condition_can_hold
from cbnet.language.values import RESERVED_NAME, ValueType, format_name
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.engines.registry import engine
from cbnet.matching.rule import RuleName
from cbnet.matching.storage.arrow_messages import FrameRows
from cbnet.matching.storage.attribute_columns import TAGS, AttributeColumn, attribute_columns
from cbnet.matching.storage.codes import TEST_SHIFT, Test, operands_of, tests_of, type_of, unpack
from cbnet.matching.storage.columns import Array, Columns
from cbnet.matching.storage.condition_code import decode_condition
from cbnet.matching.storage.value_sets import TYPE_SHIFT

_SHOWN = 10  # findings in a warning
_SHOWN_RULES = 3  # of a finding
_MAX_COMPARED = 200  # unknown names that are compared with those of columns
_MAX_CONDITIONS = 10_000  # distinct ones of a table; decoding takes some 20 µs each
_MAX_CONSTRAINTS = 200_000  # of a table that is compared although nobody has asked: reading back takes 1 µs each
_NO_TAGS = "no column '#', which holds the tags"
_NULL = frozenset([ValueType.NULL])
_NOUNS = {ValueType.BOOL: "bools", ValueType.NUMBER: "numbers", ValueType.STRING: "strings"}
_STATED = {ValueType.BOOL: "bool", ValueType.NUMBER: "float", ValueType.STRING: "string"}


@dataclass(frozen=True)
class Finding:
    """A test that no row of some columns passes, or an attribute that no column holds."""

    rank: int  # the lower, the more probably a mistake
    problem: str
    hint: str | None
    rules: frozenset[RuleName]

    @property
    def error(self) -> InputError:
        """The finding as an error."""
        names = sorted(self.rules, key=str)[:_SHOWN_RULES]
        more = f" and {len(self.rules) - len(names):,} more" if len(self.rules) > len(names) else ""
        noun = "rule" if len(self.rules) == 1 else "rules"
        return InputError(f"{noun} {', '.join(map(str, names))}{more}: {self.problem}", hint=self.hint)


@dataclass(frozen=True)
class ColumnReport:
    """The findings of tables about columns."""

    findings: Sequence[Finding]
    rules: int  # of the tables

    @property
    def warning(self) -> str | None:
        """The findings as a text of several lines, capped; None if there are none."""
        if not self.findings:
            return None
        count = len(frozenset[RuleName]().union(*(each.rules for each in self.findings)))
        lines = [f"{count:,} of {self.rules:,} rules {'does' if count == 1 else 'do'} not fit the columns:"]
        lines += [f"  {each.error.summary}" for each in self.findings[:_SHOWN]]
        if len(self.findings) > _SHOWN:
            lines.append(f"  and {len(self.findings) - _SHOWN:,} more tests")
        return "\n".join(lines)

    def check(self, place: str) -> None:
        """Raise all findings as one error."""
        if self.findings:
            raise FileError(place, [each.error.at(file=place) for each in self.findings])

    def warn(self, *, strict: bool, stacklevel: int) -> None:
        """Warn of the findings; raise them if they are to be errors."""
        if strict:
            self.check("columns")
        if self.warning is not None:
            warnings.warn(self.warning, ColumnWarning, stacklevel=stacklevel + 1)


def check_columns(
    tables: Sequence[CompiledTable],
    columns: Sequence[AttributeColumn],
    *,
    strict: bool = False,
    has_nulls: Callable[[str], bool] = lambda _: True,
    names_only: bool = False,
) -> ColumnReport:
    """Return what the rules of tables test of columns that no row can pass.

    strict: check large tables, too, which takes seconds.
    has_nulls: whether a column, which may be null, has a null cell; asked only where a rule tests that.
    names_only: the columns are known, and their types are not.
    """
    held = _Held(columns, has_nulls, names_only)
    found: dict[tuple[int, str, str | None], set[RuleName]] = {}
    for table in tables:
        is_large = table.metadata["constraints"] > _MAX_CONSTRAINTS
        check = _TagTableCheck if engine(table.engine).tags_only else _TableCheck
        for finding in check(table, held).findings() if strict or not is_large else ():
            found.setdefault((finding.rank, finding.problem, finding.hint), set()).update(finding.rules)
    findings = [Finding(*key, frozenset(rules)) for key, rules in found.items()]
    findings.sort(key=lambda each: (each.rank, -len(each.rules)))
    return ColumnReport(findings, sum(table.metadata["interfaces"] for table in tables))


class FrameCheck:
    """The check of the data frames that a table matches: it warns of each schema once."""

    def __init__(self, table: CompiledTable) -> None:
        self._table = table
        self._fitting: set[pa.Schema] = set()
        self._warned: set[pa.Schema] = set()

    def __call__(self, rows: FrameRows, *, strict: bool, stacklevel: int) -> None:
        """Warn of what rules test of columns that no row can pass; raise it if `strict`."""
        schema = rows.schema.remove_metadata()  # of pandas, it has the number of rows
        if schema in self._fitting or (not strict and schema in self._warned):
            return
        report = check_columns([self._table], attribute_columns(schema), strict=strict, has_nulls=rows.has_nulls)
        (self._warned if report.findings else self._fitting).add(schema)
        report.warn(strict=strict, stacklevel=stacklevel + 1)


class _Held:
    """The attributes that columns hold."""

    def __init__(self, columns: Sequence[AttributeColumn], has_nulls: Callable[[str], bool], names_only: bool) -> None:
        self._columns = columns
        self._has_nulls, self._names_only = has_nulls, names_only
        self._named: dict[str, list[AttributeColumn]] = {}
        for column in columns:
            self._named.setdefault(column.name, []).append(column)
        self._open = [column for column in columns if None in column.path]
        self._known: dict[str, list[AttributeColumn]] = {}
        self.has_tags = any(column.path == TAGS for column in columns)

    def of(self, name: str) -> list[AttributeColumn]:
        """Return the columns that hold an attribute."""
        if name not in self._known:
            exact = [column for column in self._named.get(name, ()) if None not in column.path]
            self._known[name] = [*exact, *(column for column in self._open if column.pattern.fullmatch(name))]
        return self._known[name]

    def missing(self, name: str) -> str | None:
        """Return the attribute if no column holds it; of a computed one, a path that it depends on."""
        if (meaning := computed(name)) is None:
            return None if self.of(name) else name
        paths = (path for path in sorted(meaning.used_paths) if ITEM_NAME not in path.split("."))
        return next((path for path in paths if not self.of(path) and not self._has_members(path)), None)

    def _has_members(self, path: str) -> bool:
        return any(column.name.startswith(f"{path}.") for column in self._columns)

    def types(self, name: str) -> Types:
        """Return the types of the values of an attribute."""
        meaning = computed(name)
        if self._names_only or (meaning is not None and meaning.kind == "item"):
            return ALL_TYPES
        if meaning is not None:
            return frozenset([ValueType.NUMBER if meaning.kind == "count" else ValueType.BOOL])
        return frozenset[ValueType]().union(*(column.types for column in self.of(name)))

    def may_be_absent(self, name: str) -> bool:
        """Return whether some row may have no value of an attribute."""
        columns = self.of(name)  # none of a computed attribute, which may be absent
        return all(
            column.is_nullable and (len(column.path) > 1 or column.is_several or self._has_nulls(str(column.path[0])))
            for column in columns
        )

    def near(self, name: str) -> list[str]:
        """Return attributes whose names are nearly this one."""
        whole = [other for other, columns in self._named.items() if None not in columns[0].path]
        folded = {other: re.sub(r"[\W_]", "", other).casefold() for other in whole}
        own = re.sub(r"[\W_]", "", name).casefold()
        inside = [other for other in folded if other.startswith(f"{name}.")]
        return inside[:2] or [other for other in folded if folded[other] == own] or get_close_matches(name, folded, 2)

    def description(self, name: str) -> str:
        """Return what the columns of an attribute hold."""
        nouns = " and ".join(_NOUNS[kind] for kind in sorted(self.types(name) & _NOUNS.keys())) or "only nulls"
        if computed(name) is not None:
            return f"{name} is {'a number' if nouns == 'numbers' else 'a bool'}"
        inferred = ", as inferred from its cells" if any(column.is_inferred for column in self.of(name)) else ""
        return f"the column {name!r} holds {nouns}{inferred}"

    def remedy(self, name: str, accepted: Types) -> str | None:
        """Return how a column of text gets a type that a test accepts."""
        wanted = [kind for kind in (ValueType.STRING, ValueType.NUMBER, ValueType.BOOL) if kind in accepted]
        if not wanted or not any(column.is_inferred for column in self.of(name)):
            return None
        return f"state its type: --types {name}={_STATED[wanted[0]]}"


class _TagTableCheck:
    """The check of a table of tags, whose filters are not read."""

    def __init__(self, table: CompiledTable, held: _Held) -> None:
        self._table, self._held = table, held

    def findings(self) -> Iterator[Finding]:
        """Yield what no row can pass."""
        if self._table.metadata["constraints"] and not self._held.has_tags:
            yield Finding(3, _NO_TAGS, None, frozenset(self._table.labels))


class _TableCheck:
    """The check of the rules of one table.

    Words of one attribute that accept the same types are one *test*, and so are those of one condition:

        63            38 37    32 31                                              0
        │ symbol        │ test   │ of `in`: types, as bits; the number of a condition │
    """

    def __init__(self, table: CompiledTable, held: _Held) -> None:
        self._table, self._held = table, held
        self._columns: Columns = table.columns
        self._found: dict[tuple[int, str, str | None], list[int]] = {}  # rank, problem and hint -> tests
        self._tests, self._test_of_word = np.unique(self._word_tests(), return_inverse=True)

    def findings(self) -> Iterator[Finding]:
        """Yield what no row can pass."""
        near: dict[str, list[str]] = {}
        misfits: dict[tuple[str, Types], list[int]] = {}
        conditions = 0
        for number, (symbol, test, rest) in enumerate(map(unpack, self._tests.tolist())):
            name = self._columns.symbols[symbol]
            if test is Test.TAG:
                if not self._held.has_tags:
                    self._add(3, _NO_TAGS, None, number)
            elif test is Test.CONDITION:
                conditions += 1
                if conditions <= _MAX_CONDITIONS:
                    self._check_condition(decode_condition(self._columns.conditions.utf8(rest)), near, number)
            elif name != RESERVED_NAME and self._is_held(name, near, number):
                accepted = _accepted(test, rest)
                if not self._held.types(name) & accepted:
                    misfits.setdefault((name, accepted), []).append(number)
        for (name, accepted), numbers in misfits.items():
            self._add_misfit(name, accepted, numbers)
        for (rank, problem, hint), numbers in self._found.items():
            yield Finding(rank, problem, hint, self._rules(numbers))

    def _word_tests(self) -> Array:
        """Return the test of each word."""
        words, sets = self._columns.words, self._columns.sets
        tests, operands = tests_of(words), operands_of(words)
        rest = np.where(tests == Test.CONDITION, operands, 0)
        if len(sets):
            types = np.bitwise_or.reduceat(1 << (sets.members >> TYPE_SHIFT).astype(np.int64), sets.offsets[:-1])
            is_set = tests == Test.IN
            rest[is_set] = types[operands[is_set]]
        return words >> TEST_SHIFT << TEST_SHIFT | rest.astype(np.uint64)

    def _add(self, rank: int, problem: str, hint: str | None, *tests: int) -> None:
        self._found.setdefault((rank, problem, hint), []).extend(tests)

    def _is_held(self, name: str, near: dict[str, list[str]], test: int) -> bool:
        """Return whether a column holds an attribute; add the finding if none does."""
        missing = self._held.missing(name)
        if missing is None:
            return True
        name = missing
        if name not in near:
            near[name] = self._held.near(name) if len(near) < _MAX_COMPARED else []
        hint = f"did you mean {' or '.join(map(repr, near[name]))}?" if near[name] else None
        self._add(0 if hint else 4, f"no column {name!r}", hint, test)
        return False

    def _add_misfit(self, name: str, accepted: Types, tests: Sequence[int]) -> None:
        """Add constraints that accept no type of a column; the first one is the example."""
        word = self._columns.words[np.argmax(self._test_of_word == tests[0])]
        example = self._columns.decode([int(word)])
        if accepted == _NULL:
            hint = f"write absent {format_name(name)}"
            self._add(2, f"{example}: a null cell is an absent attribute", hint, *tests)
        else:
            problem = f"{example}: {self._held.description(name)}"
            self._add(1, problem, self._held.remedy(name, accepted), *tests)

    def _check_condition(self, condition: Condition, near: dict[str, list[str]], test: int) -> None:
        is_presence = isinstance(condition.test, Presence)
        names = [condition.test.name] if isinstance(condition.test, Presence) else sorted(condition.names)
        missing = [name for name in names if not self._is_held(name, near, test)]
        if missing or condition_can_hold(condition, self._held.types, self._held.may_be_absent):
            return
        if is_presence and Outcome.TRUE not in condition.accepted:
            self._add(2, f"{condition}: the column {names[0]!r} has no nulls", None, test)
        else:
            described = "; ".join(map(self._held.description, names))
            self._add(1, f"{condition}: {described or 'no value passes'}", None, test)

    def _rules(self, tests: Sequence[int]) -> frozenset[RuleName]:
        """Return the rules that have some of the tests."""
        words = np.concatenate([self._words_by_test[test] for test in tests])
        rows = np.searchsorted(self._columns.offsets, words, "right") - 1
        labels = self._table.labels
        return frozenset(labels[target] for target in np.unique(self._columns.targets[rows]).tolist())

    @cached_property
    def _words_by_test(self) -> list[Array]:
        order = np.argsort(self._test_of_word, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self._test_of_word, minlength=len(self._tests)))[:-1])


def _accepted(test: Test, rest: int) -> Types:
    """Return the types of the values that a test of an attribute accepts."""
    if test is Test.IN:
        return frozenset(kind for kind in ValueType if rest >> kind & 1)
    if test is Test.NOT_NULL:
        return ALL_TYPES - _NULL
    kind = type_of(test)
    return ALL_TYPES if kind is None else frozenset([kind])
