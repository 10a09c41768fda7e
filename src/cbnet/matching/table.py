"""A table of rules: a predicate per name, compiled for matching.

    table = Table.build({"alerts": 'severity > 2', "milan": 'dest = "MXP" and price < 500'})
    table.match({"dest": "MXP", "price": 300})        # ['milan']
    print(table.explain({"dest": "MXP"}, "milan"))     # milan: no match; closest: …

`match`, `match_many` and `match_frame` return the same rules in the same order: highest priority first, then in the
order of the table. A forwarding table is such a table: its rules are the interfaces of a router.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from cbnet.errors import FileError, InputError, UnknownRuleError
from cbnet.language.dialects import CBNET, RuleSource, parse
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.relations.covering import PredicateLike, as_predicate
from cbnet.matching.explain import Explanation, explain
from cbnet.matching.rule import Rule, RuleName, checked_name

if TYPE_CHECKING:
    import pyarrow as pa

    from cbnet.matching.column_check import FrameCheck
    from cbnet.matching.compiled_table import CompiledTable
    from cbnet.matching.files.matched_files import FileMatch

Key = TypeVar("Key", bound=RuleName)
Report = Callable[[str], None]


class Table(Generic[Key]):
    """An immutable table of rules, created by `build`, `from_arrow` or `open`."""

    def __init__(self, compiled: CompiledTable, predicates: Mapping[Key, Predicate] | None = None) -> None:
        if isinstance(compiled, Mapping):
            raise InputError("a table cannot be created from predicates directly", hint="use Table.build({…})")
        self._compiled = compiled
        self._predicates = predicates  # where the table was built from them

    @classmethod
    def build(
        cls,
        predicates: Mapping[Key, PredicateLike | RuleSource],
        *,
        dialect: str = CBNET,
        engine: str = "pivot",
        reduce: bool = True,
        sample: Sequence[Message | Mapping[str, Any]] = (),
        rules: Iterable[Rule] = (),
        report: Report = lambda _: None,
    ) -> Table[Key]:
        """Build a table from the predicates of rules, or their texts, by name.

        dialect: of the texts; some dialects also take patterns that are dicts or lists.
        engine: "pivot" or "counting"; for filters of tags only also "tags" or "bloom".
        reduce: leave out filters that another filter of their rule covers.
        sample: typical messages; they may make matching faster and never change its result.
        rules: priorities and metadata; `rule` returns them.
        report: called with the name of each build step.
        """
        from cbnet.matching.compiled_table import CompiledTable
        from cbnet.matching.storage.columns import columns_of

        if not isinstance(predicates, Mapping):
            raise InputError("expected a mapping from the name of a rule to its predicate", hint='write {"a": "x = 1"}')
        parsed = _parsed(predicates, dialect)
        compiled = CompiledTable.build(columns_of(parsed), engine, report, reduce=reduce, sample=sample, rules=rules)
        return cls(compiled, parsed)

    @classmethod
    def from_arrow(
        cls,
        filters: pa.Table,
        *,
        engine: str = "pivot",
        reduce: bool = True,
        sample: Sequence[Message | Mapping[str, Any]] = (),
        report: Report = lambda _: None,
    ) -> Table[Any]:
        """Build a table from an Arrow table with one row per constraint; see `arrow_filters`."""
        from cbnet.matching.compiled_table import CompiledTable
        from cbnet.matching.storage.arrow_filters import columns_from_arrow

        report("reading constraints")
        return Table(CompiledTable.build(columns_from_arrow(filters), engine, report, reduce=reduce, sample=sample))

    @classmethod
    def open(cls, path: str | Path, *, verify: bool = False, dialect: str = CBNET) -> Table[Any]:
        """Open a compiled table, which is mapped into memory, or compile a rule file.

        verify: read and check every byte of a compiled table.
        dialect: of the rules of a text file that names none.
        """
        from cbnet.matching.files.rule_files import open_rule_file

        file = open_rule_file(Path(path), verify=verify, dialect=dialect)
        return Table(file.compiled, file.written)

    def save(self, path: str | Path) -> int:
        """Write the compiled table to one file; return its size in bytes."""
        return self._compiled.save(Path(path))

    def match(self, message: Message | Mapping[str, Any]) -> list[Key]:
        """Return the rules that the message matches: highest priority first, then in the order of the table.

        A mapping is the JSON form of a message: its key "#" holds the tags.
        """
        return cast("list[Key]", self._compiled.match(message))  # type: ignore[arg-type]

    @overload
    def match_many(
        self, messages: Iterator[Message | Mapping[str, Any]], *, threads: int = 1
    ) -> Iterator[list[Key]]: ...

    @overload
    def match_many(self, messages: Sequence[Message | Mapping[str, Any]], *, threads: int = 1) -> list[list[Key]]: ...

    def match_many(
        self, messages: Iterable[Message | Mapping[str, Any]], *, threads: int = 1
    ) -> Iterator[list[Key]] | list[list[Key]]:
        """Return the rules that each message matches, in the order of `match`.

        Of an iterator, an iterator: some thousand messages are taken at a time, and fewer where they match much.
        """
        if not isinstance(messages, Iterator):
            return self._match_list([*messages], 0, threads)
        return self._match_parts(messages, threads)

    def _match_parts(self, messages: Iterator[Message | Mapping[str, Any]], threads: int) -> Iterator[list[Key]]:
        from cbnet.matching.row_matching import FIRST_ROWS, next_rows

        first, count = 0, FIRST_ROWS
        while part := [*islice(messages, count)]:
            found = self._match_list(part, first, threads)
            first, count = first + len(part), next_rows(len(part), sum(map(len, found)))
            yield from found

    def _match_list(self, messages: Sequence[Message | Mapping[str, Any]], first: int, threads: int) -> list[list[Key]]:
        """Match messages; first: the number of the first one in errors, from 0."""
        from cbnet._kernels.target_set import label_lists

        batch = self._compiled.encode(messages, first)  # type: ignore[arg-type]
        offsets, targets, _ = self._compiled.match_batch(batch, threads)
        for row, error in self._compiled.undecided(batch).items():
            raise InputError(f"message {first + row + 1}: {error.problem}", hint=error.hint)
        return label_lists(offsets, targets, self._compiled.labels)

    def match_frame(self, frame: Any, *, threads: int = 1, strict: bool = False) -> pa.ChunkedArray:
        """Return the rules that each row of a data frame matches, in the order of `match`: a column of lists.

        frame: anything that exports Arrow: a frame of pandas or Polars, a relation of DuckDB, a table, record
        batch or reader of pyarrow. A stream is read batch by batch. A column per attribute, null where it is absent;
        a list-of-strings column "#" for the tags; structs, maps and lists are nested objects and arrays.
        threads: number of threads that match at the same time.
        strict: a rule that tests what the columns do not have, such as a misspelt one or strings in a column of
        numbers, is an error, and not a `ColumnWarning`, which is given once for a schema.
        """
        import pyarrow as pa

        from cbnet.matching.row_matching import match_rows, rule_lists
        from cbnet.matching.storage.arrow_messages import read_frame

        names = self._compiled.rule_names
        with closing(read_frame(frame)) as rows:
            self._check_frame(rows, strict=strict, stacklevel=2)
            parts = match_rows(self._compiled, rows.batches, threads=threads)
            chunks = [rule_lists(names, part.offsets, part.targets) for part in parts]
        return pa.chunked_array(chunks, pa.list_(names.type))

    def match_files(
        self,
        files: str | Path | Sequence[str | Path],
        *,
        types: Mapping[str, str] | None = None,
        threads: int = 1,
        strict: bool = False,
    ) -> Iterator[FileMatch[Key]]:
        """Yield the rules of each message of files, or patterns of their names, as `cbnet match` reads them.

        JSON Lines, Parquet, CSV and Arrow; CSV and JSON Lines also as .gz, .bz2 and .zst. An invalid message has an
        error in place of rules.
        types: of columns of CSV (int, float, bool, string), and of the others as `all`.
        strict: as of `match_frame`.
        """
        from cbnet.matching.files.matched_files import match_files

        names = [files] if isinstance(files, str | Path) else files
        return match_files(self._compiled, [*map(str, names)], types or {}, threads=threads, strict=strict)

    def explain(self, message: Message | Mapping[str, Any], name: Key) -> Explanation:
        """Return why the message matches a rule, or which constraints it fails."""
        return explain(Message.of(message), name, self[name])

    def rule(self, name: Key) -> Rule:
        """Return a rule with its priority and metadata: 0 and {} if it has none."""
        label = self._labels[self._target(name)]
        return self._compiled.rules.get(label) or Rule(label)

    def __getitem__(self, name: Key) -> Predicate:
        """Return the predicate of a rule; raise UnknownRuleError, also a KeyError, if there is none."""
        target = self._target(name)
        if self._predicates is not None and name in self._predicates:
            return self._predicates[name]
        columns = self._compiled.columns
        rows = (columns.targets == target).nonzero()[0]
        return Predicate(columns.filter(row) for row in rows)

    @property
    def has_int_names(self) -> bool:
        """Whether the names of all rules are ints, so that `match_frame` returns ints; it returns strings otherwise."""
        import pyarrow as pa

        return bool(pa.types.is_integer(self._compiled.rule_names.type))

    @cached_property
    def _check_frame(self) -> FrameCheck:
        from cbnet.matching.column_check import FrameCheck

        return FrameCheck(self._compiled)

    @property
    def _labels(self) -> list[Key]:
        return cast("list[Key]", self._compiled.labels)

    @cached_property
    def _targets(self) -> dict[Key, int]:
        return {label: target for target, label in enumerate(self._labels)}

    def _target(self, name: Key) -> int:
        """Return the index of a rule; raise UnknownRuleError if there is none."""
        try:
            checked_name(name)  # True and 1.0 are not names, although they equal 1
        except InputError as error:
            raise UnknownRuleError(error.problem, hint=error.hint) from None
        if name not in self._targets:
            first = ", ".join(map(repr, self._labels[:5])) + (", …" if len(self._labels) > 5 else "")
            raise UnknownRuleError(f"no rule {name!r} in the table", hint=f"it has {first or 'none'}")
        return self._targets[name]

    def __contains__(self, name: object) -> bool:
        is_key = isinstance(name, str | int) and not isinstance(name, bool)
        return is_key and name in self._targets

    def __iter__(self) -> Iterator[Key]:
        return iter(self._labels)

    def __len__(self) -> int:
        return int(self._compiled.metadata["interfaces"])

    def __repr__(self) -> str:
        return f"<Table: rules {len(self)}, filters {self._compiled.metadata['filters']}>"


def _parsed(predicates: Mapping[Key, PredicateLike | RuleSource], dialect: str) -> dict[Key, Predicate]:
    """Return all predicates; raise the mistakes of all of them together."""
    parsed, errors = {}, []
    for key, predicate in predicates.items():
        try:
            parsed[key] = _parse(checked_name(key), predicate, dialect)
        except InputError as error:
            errors.append(error)
    if errors:
        raise errors[0] if len(errors) == 1 else FileError("Table.build", errors)
    return parsed


def _parse(name: RuleName, predicate: PredicateLike | RuleSource, dialect: str) -> Predicate:
    try:
        if isinstance(predicate, str | Mapping | list):
            return parse(predicate, dialect=dialect)
        return as_predicate(predicate)
    except InputError as error:
        raise error.at(file=f"rule {name!r}") from None
