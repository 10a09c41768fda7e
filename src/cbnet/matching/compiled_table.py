"""Compiled: a forwarding table as flat arrays, and the kernel that matches with them.

What is built once can be saved as one file and opened by many processes; see `table_file`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from cbnet._kernels.message_encoding import Batch, Symbols, fill_slots
from cbnet.errors import InputError, TableFileError
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.matching.engines.registry import Report, engine
from cbnet.matching.engines.tag_sets import check_tags_only
from cbnet.matching.storage.arrow_messages import encode_batch, record_batches
from cbnet.matching.storage.codes import TEST_SHIFT, Test
from cbnet.matching.storage.columns import Columns, Numbers, Texts
from cbnet.matching.storage.labels import labels_from_arrays, labels_to_arrays
from cbnet.matching.storage.reduction import reduced
from cbnet.matching.storage.table_file import TableFile, open_table_file, write_table_file

if TYPE_CHECKING:
    from cbnet.matching.storage.columns import Array

_FULLEST = 0.6  # of the slots for symbols, those in use


def _silent(_: str) -> None:
    pass


class Compiled:
    """The arrays of a table and the kernel over them. It does not change."""

    def __init__(self, arrays: dict[str, Array], about: dict[str, Any]) -> None:
        self._unverified: TableFile | None = None
        self.arrays = arrays
        self.about = about
        self.engine: str = about["engine"]
        self.symbols = Symbols(arrays["symbol_data"], arrays["symbol_offsets"], arrays["symbol_slots"], about["names"])
        try:
            self.index: Any = engine(self.engine).matcher(self.symbols, arrays, about["interfaces"])
        except (KeyError, ValueError) as error:
            raise TableFileError(f"the file is damaged: {error}", hint="compile the table again") from None

    @classmethod
    def build(
        cls,
        columns: Columns,
        engine_name: str = "pivot",
        report: Report = _silent,
        *,
        reduce: bool = True,
        labelled: bool = True,
        sample: Sequence[Message | Mapping[str, Any]] = (),
    ) -> Compiled:
        """Compile filters for an engine; `reduce` leaves out those that another of their interface covers.

        Without `labelled` the table knows its interfaces by their places only. `sample` are messages
        such as will come; they help to choose where a filter is filed.
        """
        builder = engine(engine_name)
        if builder.tags_only:
            check_tags_only(columns)
        report("dropping covered filters" if reduce else "keeping all filters")
        kept, aside = reduced(columns) if reduce else (columns, {})
        symbols = columns.symbols
        slots = np.zeros(1 << max(1, int(len(symbols) / _FULLEST).bit_length()), np.uint32)
        fill_slots(symbols.data, symbols.offsets, columns.names, slots)
        arrays = {
            **builder.build(kept, report, _checked(sample, "sample message")),
            **aside,
            "symbol_data": symbols.data, "symbol_offsets": symbols.offsets, "symbol_slots": slots,
            **labels_to_arrays(columns.interfaces if labelled else ()),
        }  # fmt: skip
        about = {
            "engine": engine_name, "names": columns.names, "interfaces": len(columns.interfaces),
            "filters": len(columns), "constraints": len(columns.words),
            "covered": len(aside.get("covered_targets", ())),
        }  # fmt: skip
        return cls({name: np.ascontiguousarray(array) for name, array in arrays.items()}, about)

    @classmethod
    def open(cls, path: Path, *, verify: bool = False) -> Compiled:
        """Map a table that was saved; `verify` reads and checks every byte of it."""
        file = open_table_file(path)
        if verify:
            file.verify()
        try:
            compiled = cls(file.arrays, file.about)
        except TableFileError as error:
            raise error.at(file=str(path)) from None
        compiled._unverified = None if verify else file
        return compiled

    def save(self, path: Path) -> int:
        """Write the table to a file; return its size."""
        keys = ("engine", "names", "interfaces", "filters", "constraints", "covered")
        return write_table_file(path, self.arrays, {key: self.about[key] for key in keys})

    @cached_property
    def labels(self) -> list[str | int]:
        """The interfaces, by target."""
        try:
            labels = labels_from_arrays(self.arrays)
            if len(labels) not in (0, self.about["interfaces"]):
                raise IndexError
            return labels
        except (StopIteration, RuntimeError, ValueError, IndexError):
            raise TableFileError("the file is damaged: its interfaces are not whole", hint="compile it again") from None

    def match(self, message: Message | dict[str, Any]) -> list[str | int]:
        """Return the interfaces of one message, in the order of the table."""
        try:
            found = self.index.match_members(_members(message), self.labels)
        except UnicodeEncodeError:  # half of a surrogate pair
            found = None
        if found is None:  # something in it is not plain: a message that is wrong says so here
            found = self.index.match_members(Message.of(message).to_dict(), self.labels)
        return cast("list[str | int]", found)

    def encode(self, messages: Sequence[Message | dict[str, Any]]) -> Batch:
        """Return messages as the kernel reads them."""
        batch = Batch()
        for number, message in enumerate(messages, 1):
            try:
                is_plain = batch.add(self.symbols, _members(message))
            except UnicodeEncodeError:
                is_plain = False
            if not is_plain:
                return self._encode_checked(messages, number)
        return batch

    def _encode_checked(self, messages: Sequence[Any], number: int) -> Batch:
        """Encode messages of which one is not plain; if it is wrong, say which."""
        checked = _checked(messages, "message")
        if not all(type(value) in (str, int, float, bool, list) for value in checked[number - 1].values()):
            raise InputError(f"message {number} cannot be encoded")
        batch = Batch()
        for members in checked:
            batch.add(self.symbols, members)
        return batch

    def match_arrow(self, messages: object, threads: int = 1) -> pa.RecordBatch:
        """Match Arrow rows; return `row` (int64, from 0) and `interface`, sorted by both."""
        rows, targets, first = [np.empty(0, np.int64)], [np.empty(0, np.uint32)], 0
        for batch in record_batches(messages):
            encoded, kept = encode_batch(batch, self.symbols, first)
            offsets, found, _ = self.match_batch(encoded, threads)
            del kept
            rows.append(np.repeat(np.arange(first, first + len(encoded)), np.diff(offsets)))
            targets.append(found)
            first += len(encoded)
        interfaces = self._interface_array().take(pa.array(np.concatenate(targets)))
        return pa.RecordBatch.from_arrays([pa.array(np.concatenate(rows)), interfaces], ["row", "interface"])

    def _interface_array(self) -> pa.Array:
        """Return the interfaces by target: int64, or strings; ints beside strings become strings."""
        ints = self.arrays["label_ints"]
        if len(ints) == self.about["interfaces"]:
            return pa.array(ints)
        return pa.array([str(label) for label in self.labels], pa.string())

    def match_batch(self, batch: Batch, threads: int = 1) -> tuple[Array, Array, int]:
        """Return where each message's targets begin, the targets, and how many postings were touched."""
        if threads <= 1 or len(batch) < 2 * threads:
            offsets, targets, touched = self.index.match_batch(batch, 0, len(batch))
            return offsets, targets, touched
        edges = np.linspace(0, len(batch), threads + 1).astype(int)
        with ThreadPoolExecutor(threads - 1) as pool:  # and this thread
            others = [pool.submit(self.index.match_batch, batch, *edges[i : i + 2]) for i in range(1, threads)]
            parts = [self.index.match_batch(batch, *edges[:2]), *(other.result() for other in others)]
        starts = np.cumsum([0] + [len(targets) for _, targets, _ in parts])
        offsets = np.concatenate([[0], *(part[0][1:] + start for part, start in zip(parts, starts, strict=False))])
        return offsets, np.concatenate([part[1] for part in parts]), sum(part[2] for part in parts)

    @cached_property
    def columns(self) -> Columns:
        """All filters, read back from the arrays; those that are covered stand last."""
        self._verify()
        targets, offsets, words = engine(self.engine).filters_of(self.arrays)
        if "covered_targets" in self.arrays:
            targets = np.concatenate([targets, self.arrays["covered_targets"]])
            offsets = np.concatenate([offsets, offsets[-1] + self.arrays["covered_offsets"][1:].astype(np.int64)])
            words = np.concatenate([words, self.arrays["covered_words"]])
        return self._columns(targets, offsets, words)

    def has_test(self, test: Test) -> bool:
        """Return whether a filter of this pivot table has a test."""
        covered = self.arrays.get("covered_words", np.empty(0, np.uint64)) >> np.uint64(TEST_SHIFT) & np.uint64(63)
        return bool((self.arrays["tested"] & np.uint32(1 << test)).any() or (covered == np.uint64(test)).any())

    def decoded(self, words: Sequence[int]) -> Filter:
        """Return the filter that some words of this table say."""
        self._verify()
        nothing = np.empty(0, np.uint64)
        return self._columns(nothing, nothing, nothing).decoded(words)

    def _verify(self) -> None:
        """Check every byte of the file, once: what reads filters back trusts what it reads."""
        if self._unverified is not None:
            self._unverified.verify()
            self._unverified = None

    def _columns(self, targets: Array, offsets: Array, words: Array) -> Columns:
        return Columns(
            self.labels, targets, offsets, words, self.about["names"],
            Texts(self.arrays["symbol_data"], self.arrays["symbol_offsets"]),
            Numbers(self.arrays["number_high"], self.arrays["number_low"]),
            Texts(self.arrays["string_data"], self.arrays["string_offsets"]),
        )  # fmt: skip


def _members(message: Message | dict[str, Any]) -> dict[str, Any]:
    return message if type(message) is dict else Message.of(message).to_dict()


def _checked(messages: Sequence[Message | Mapping[str, Any]], noun: str) -> list[dict[str, Any]]:
    """Return the JSON members of messages; an error names the message by its number, from 1."""
    checked = []
    for number, message in enumerate(messages, 1):
        try:
            checked.append(Message.of(message).to_dict())
        except InputError as error:
            raise InputError(f"{noun} {number}: {error.problem}", hint=error.hint) from None
    return checked
