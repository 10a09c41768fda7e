"""Matching of whole files of messages, in parts, with bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cbnet.errors import InputError
from cbnet.language.values import RESERVED_NAME
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.files.columnar_files import ColumnarFile
from cbnet.matching.files.matched_messages import MatchedMessages
from cbnet.matching.files.message_files import EncodedLines, read_encoded
from cbnet.matching.row_matching import in_order, match_rows
from cbnet.matching.storage.arrow_leaves import LeafReader
from cbnet.matching.storage.columns import Array


@dataclass(frozen=True)
class FileMatcher:
    """A table that matches files."""

    compiled: CompiledTable
    threads: int = 1

    def match_columns(self, file: ColumnarFile, *, only_used: bool = False) -> Iterator[MatchedMessages]:
        """Yield the rows of a file; only_used: columns that no filter uses may be left out."""
        reader = LeafReader(self.compiled.symbols)

        def uses(field: pa.Field) -> bool:
            return not only_used or field.name == RESERVED_NAME or reader.uses(field.name, field.type)

        for part in match_rows(self.compiled, file.batches(uses), threads=self.threads, reject=True):
            first = part.first + 1
            errors = {first + row: error.at(file=str(file.path)) for row, error in part.rejected.items()}
            numbers = range(first, first + len(part.batch))
            yield MatchedMessages(part.batch, numbers, part.offsets, part.targets, errors)

    def match_lines(self, read: Callable[[int], bytes], source: str | None) -> Iterator[MatchedMessages]:
        """Yield the messages of JSON Lines; with one thread, as soon as they have been read.

        source: the name of the file in errors.
        """
        # Lines are decoded here, with the interpreter lock; the other threads match without it.
        for matched in in_order(self._match_lines, read_encoded(read, self.compiled.symbols), self.threads):
            for error in matched.errors.values():
                error.at(file=source)
            yield matched

    def _match_lines(self, encoded: EncodedLines) -> MatchedMessages:
        offsets, targets, _ = self.compiled.match_batch(encoded.batch)
        rows, numbers, places, errors = [], [], [], {}
        for number, line, outcome in zip(encoded.numbers, encoded.lines, encoded.outcomes, strict=True):
            if isinstance(outcome, InputError):
                errors[number] = outcome
            else:
                rows.append(line)
                numbers.append(number)
                places.append(outcome)
        if len(rows) < len(encoded.batch):  # refused messages have a place in the batch
            offsets, targets = _chosen(np.array(places, np.int64), offsets, targets)
        return MatchedMessages(rows, numbers, offsets, targets, errors)


def _chosen(places: Array, offsets: Array, targets: Array) -> tuple[Array, Array]:
    """Return the offsets and targets of some messages of a batch."""
    is_chosen = np.zeros(len(offsets) - 1, bool)
    is_chosen[places] = True
    counts = np.diff(offsets)
    return np.append(0, np.cumsum(counts[is_chosen])), targets[np.repeat(is_chosen, counts)]
