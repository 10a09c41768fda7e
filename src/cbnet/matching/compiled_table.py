"""Tables compiled to flat arrays, with the kernel that matches messages against them.

A table is built once, saved as one file and opened by many processes; see `table_file`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cbnet._kernels.condition_eval import mentions
from cbnet._kernels.dict_encoding import DictEncoder
from cbnet._kernels.message_encoding import Batch
from cbnet._kernels.symbol_table import Symbols, fill_slots
from cbnet.errors import InputError, TableFileError, UndecidedError
from cbnet.language.computed import computed
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.search_budget import MAX_EXAMINED
from cbnet.matching.engines.registry import Report, engine
from cbnet.matching.engines.tag_table import check_tags_only
from cbnet.matching.rule import Rule, RuleName
from cbnet.matching.storage.codes import Test, operands_of, symbols_of, tests_of
from cbnet.matching.storage.columns import Array, Columns, Numbers, Texts
from cbnet.matching.storage.reduction import reduce_columns
from cbnet.matching.storage.rule_section import (
    RULE_SECTION,
    PriorityOrder,
    labels_from_arrays,
    labels_to_arrays,
    rules_from_arrays,
    rules_to_arrays,
)
from cbnet.matching.storage.table_file import TableFile, open_table_file, write_table_file
from cbnet.matching.storage.used_leaves import used_leaves
from cbnet.matching.storage.value_sets import Sets

_REMEDY = "compile the table again"
_MAX_LOAD = 0.6  # of the hash table of symbols


class CompiledTable:
    """The arrays of a table and the kernel over them; immutable."""

    def __init__(self, arrays: dict[str, Array], metadata: dict[str, Any]) -> None:
        self._unverified: TableFile | None = None
        self.arrays = arrays
        self.metadata = metadata
        self.engine: str = metadata["engine"]
        self.symbols = Symbols(
            arrays["symbol_data"], arrays["symbol_offsets"], arrays["symbol_slots"], metadata["names"]
        )
        try:
            self.index: Any = engine(self.engine).matcher(self.symbols, arrays, metadata["interfaces"])
        except (KeyError, ValueError) as error:
            raise TableFileError(f"the file is damaged: {error}", hint=_REMEDY) from None

    @classmethod
    def build(
        cls,
        columns: Columns,
        engine_name: str = "pivot",
        report: Report = lambda _: None,
        *,
        reduce: bool = True,
        labelled: bool = True,
        sample: Sequence[Message | Mapping[str, Any]] = (),
        rules: Iterable[Rule] = (),
    ) -> CompiledTable:
        """Compile filters for an engine.

        reduce: leave out filters that another filter of their rule covers.
        labelled: store the names of the rules; else the table knows only their numbers.
        sample: typical messages; they help to choose the pivot of a filter.
        rules: priorities and metadata, to be stored beside the filters.
        """
        builder = engine(engine_name)
        if builder.tags_only:
            check_tags_only(columns)
        report("dropping covered filters" if reduce else "keeping all filters")
        kept, aside = reduce_columns(columns) if reduce else (columns, {})
        symbols = columns.symbols
        slots = np.zeros(1 << max(1, int(len(symbols) / _MAX_LOAD).bit_length()), np.uint32)
        fill_slots(symbols.data, symbols.offsets, columns.names, slots)
        arrays = {
            **builder.build(kept, report, _checked(sample, "sample message")),
            **aside,
            "symbol_data": symbols.data, "symbol_offsets": symbols.offsets, "symbol_slots": slots,
            **labels_to_arrays(columns.interfaces if labelled else ()),
            **rules_to_arrays(rules, columns.interfaces),
        }  # fmt: skip
        metadata = {
            "engine": engine_name, "names": columns.names, "interfaces": len(columns.interfaces),
            "filters": len(columns), "constraints": len(columns.words),
            "covered": len(aside.get("covered_targets", ())),
        }  # fmt: skip
        return cls({name: np.ascontiguousarray(array) for name, array in arrays.items()}, metadata)

    @classmethod
    def open(cls, path: Path, *, verify: bool = False) -> CompiledTable:
        """Map a saved table; `verify` reads and checks every byte of it."""
        file = open_table_file(path)
        if verify:
            file.verify()
        try:
            compiled = cls(file.arrays, file.metadata)
        except TableFileError as error:
            raise error.at(file=str(path)) from None
        compiled._unverified = None if verify else file
        return compiled

    def save(self, path: Path) -> int:
        """Write the table to a file; return its size."""
        keys = ("engine", "names", "interfaces", "filters", "constraints", "covered")
        return write_table_file(path, self.arrays, {key: self.metadata[key] for key in keys})

    @cached_property
    def labels(self) -> list[RuleName]:
        """The names of the rules, by target."""
        try:
            labels = labels_from_arrays(self.arrays)
            if len(labels) not in (0, self.metadata["interfaces"]):
                raise IndexError
            return labels
        except (StopIteration, RuntimeError, ValueError, IndexError):
            raise TableFileError(
                "the file is damaged: its rule names are incomplete", hint="compile the table again"
            ) from None

    @cached_property
    def rules(self) -> Mapping[RuleName, Rule]:
        """The rules that have a priority or metadata, by name."""
        return rules_from_arrays(self.arrays, self.labels) if RULE_SECTION in self.arrays else {}

    @cached_property
    def order(self) -> PriorityOrder | None:
        """The order of matching rules; None if it is that of the table."""
        return PriorityOrder.of(self.rules.values(), self.labels) if self.rules else None

    def match(self, message: Message | dict[str, Any]) -> list[RuleName]:
        """Return the rules that one message matches, by priority, then in table order."""
        members = members_of(message)
        try:
            rules: list[RuleName] | None = self.index.match_members(members, self.labels)
        except UnicodeEncodeError:  # half of a surrogate pair
            rules = None
        if rules is None:  # some value is not of a plain type: check the message, and raise if it is wrong
            rules = self.index.match_members(used_leaves(members, self.symbols), self.labels) or []
        return rules if self.order is None else self.order.sorted_names(rules)

    def encode(self, messages: Sequence[Message | dict[str, Any]], first: int = 0) -> Batch:
        """Return messages encoded for the kernel; an error names the message by its number, from `first` + 1."""
        encoder = DictEncoder(self.symbols)
        items = list(messages)
        number = encoder.add_many(items, 0)
        while number < len(items):
            members = members_of(items[number])
            if members is items[number] or encoder.add_many([members], 0) == 0:
                try:
                    encoder.add(used_leaves(members, self.symbols))
                except InputError as error:
                    raise InputError(f"message {first + number + 1}: {error.problem}", hint=error.hint) from None
            number = encoder.add_many(items, number + 1)
        return encoder.batch

    @cached_property
    def rule_names(self) -> pa.Array:
        """The names of the rules by target: int64, or strings; ints beside strings become strings."""
        ints = self.arrays["label_ints"]
        if len(ints) == self.metadata["interfaces"]:
            return pa.array(ints)
        if not len(ints):
            strings = Texts(self.arrays["label_data"], self.arrays["label_offsets"])
            return strings.as_arrow(np.arange(len(strings))).cast(pa.binary()).cast(pa.string())
        return pa.array([str(label) for label in self.labels], pa.string())

    def match_batch(self, batch: Batch, threads: int = 1) -> tuple[Array, Array, int]:
        """Return the offsets of each message's targets, the targets, and the number of postings visited.

        The targets of a message are in the order of `match`. Those that are undecided are noted in the batch.
        """
        offsets, targets, touched = self._match_batch(batch, threads)
        return offsets, targets if self.order is None else self.order.sorted_targets(offsets, targets), touched

    def undecided(self, batch: Batch) -> dict[int, UndecidedError]:
        """Return an error for each message of a matched batch for which rules are undecided, by its number from 0."""
        rules: dict[int, list[RuleName]] = {}
        for row, target in sorted(batch.undecided):
            rules.setdefault(row, []).append(self.labels[target])
        return {row: UndecidedError(found, (), MAX_EXAMINED) for row, found in rules.items()}

    def _match_batch(self, batch: Batch, threads: int) -> tuple[Array, Array, int]:
        if threads <= 1 or len(batch) < 2 * threads:
            offsets, targets, touched = self.index.match_batch(batch, 0, len(batch))
            return offsets, targets, touched
        edges = np.linspace(0, len(batch), threads + 1).astype(int)
        with ThreadPoolExecutor(threads - 1) as pool:  # this thread matches the first part
            others = [pool.submit(self.index.match_batch, batch, *edges[i : i + 2]) for i in range(1, threads)]
            parts = [self.index.match_batch(batch, *edges[:2]), *(other.result() for other in others)]
        starts = np.cumsum([0] + [len(targets) for _, targets, _ in parts])
        offsets = np.concatenate([[0], *(part[0][1:] + start for part, start in zip(parts, starts, strict=False))])
        return offsets, np.concatenate([part[1] for part in parts]), sum(part[2] for part in parts)

    @cached_property
    def columns(self) -> Columns:
        """All filters, read back from the arrays; covered filters come last."""
        self._verify()
        targets, offsets, words = engine(self.engine).filters_of(self.arrays)
        if "covered_targets" in self.arrays:
            targets = np.concatenate([targets, self.arrays["covered_targets"]])
            offsets = np.concatenate([offsets, offsets[-1] + self.arrays["covered_offsets"][1:].astype(np.int64)])
            words = np.concatenate([words, self.arrays["covered_words"]])
        return self._columns(targets, offsets, words)

    def has_test(self, test: Test) -> bool:
        """Return whether a filter of this pivot table has a test."""
        covered = tests_of(self.arrays.get("covered_words", np.empty(0, np.uint64)))
        return bool((self.arrays["tested"] & np.uint32(1 << test)).any() or (covered == test).any())

    @property
    def computed_rows(self) -> dict[str, list[int]]:
        """The rows of `columns` that use computed attributes, by their names."""
        return self._computed_rows[0]

    @property
    def open_rows(self) -> dict[str, list[int]]:
        """The same, without rows that need a value of the attribute to match: those of constraints on it."""
        return self._computed_rows[1]

    @cached_property
    def _computed_rows(self) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
        names = [name for name in self.symbols.computed_names() if computed(name) is not None]
        if not names:
            return {}, {}
        columns = self.columns
        by_symbol = {self.symbols.symbol(name, False): name for name in names}
        bound: dict[str, set[int]] = {name: set() for name in names}
        found: dict[str, set[int]] = {name: set() for name in names}
        is_condition = tests_of(columns.words) == Test.CONDITION
        places = np.flatnonzero(np.isin(symbols_of(columns.words), [*by_symbol]) & ~is_condition)
        rows = np.searchsorted(columns.offsets, places, "right") - 1
        for row, symbol in zip(rows.tolist(), symbols_of(columns.words[places]).tolist(), strict=True):
            bound[by_symbol[symbol]].add(row)
        places = np.flatnonzero(is_condition)
        rows = np.searchsorted(columns.offsets, places, "right") - 1
        used = [
            [name for name, is_tag in mentions(columns.conditions.utf8(number)) if name in found and not is_tag]
            for number in range(len(columns.conditions))
        ]
        for row, number in zip(rows.tolist(), operands_of(columns.words[places]).tolist(), strict=True):
            for name in used[number]:
                found[name].add(row)
        every = {name: sorted(bound[name] | found[name]) for name in names}
        return every, {name: sorted(found[name] - bound[name]) for name in names}

    def decode(self, words: Sequence[int]) -> Filter:
        """Return the filter that some words of this table encode."""
        self._verify()
        empty = np.empty(0, np.uint64)
        return self._columns(empty, empty, empty).decode(words)

    def _verify(self) -> None:
        """Check every byte of the file, once: reading filters back trusts the arrays."""
        if self._unverified is not None:
            self._unverified.verify()
            self._unverified = None

    def _columns(self, targets: Array, offsets: Array, words: Array) -> Columns:
        return Columns(
            self.labels, targets, offsets, words, self.metadata["names"],
            Texts(self.arrays["symbol_data"], self.arrays["symbol_offsets"]),
            Numbers(self.arrays["number_high"], self.arrays["number_low"]),
            Texts(self.arrays["string_data"], self.arrays["string_offsets"]),
            Sets(self.arrays["value_set_offsets"], self.arrays["value_set_members"]),
            Texts(self.arrays["condition_data"], self.arrays["condition_offsets"]),
        )  # fmt: skip


def members_of(message: Message | Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a message in its JSON form, not checked."""
    if type(message) is dict:
        return message
    return dict(message) if isinstance(message, Mapping) else Message.of(message).to_dict()


def _checked(messages: Sequence[Message | Mapping[str, Any]], noun: str) -> list[dict[str, Any]]:
    """Return the JSON members of messages; an error names the message by its number, from 1."""
    checked = []
    for number, message in enumerate(messages, 1):
        try:
            checked.append(Message.of(message).to_dict())
        except InputError as error:
            raise InputError(f"{noun} {number}: {error.problem}", hint=error.hint) from None
    return checked
