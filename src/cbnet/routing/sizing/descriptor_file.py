"""Descriptor files: tab-separated, with a column of space-separated tags."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from cbnet.errors import InputError
from cbnet.files import unreadable
from cbnet.matching.storage.arrow_values import is_utf8
from cbnet.routing.sizing.descriptor_sets import DescriptorSets

_COLUMN = "tags"
_HINT = "write a header such as user, item, tags, separated by tabs"


def random_descriptors(path: Path, nodes: int, seed: int) -> tuple[DescriptorSets, int]:
    """Return the descriptors of a file, each at a random node, and the number of rows without tags."""
    tags, empty = read_tags(path)
    return DescriptorSets(np.random.default_rng(seed).integers(nodes, size=len(tags), dtype=np.int32), tags), empty


def read_tags(path: Path) -> tuple[pa.ListArray, int]:
    """Return the tags of each row that has any, and the number of rows without tags."""
    texts = pc.utf8_trim_whitespace(_texts(path))
    tagged = texts.filter(pc.fill_null(pc.greater(pc.utf8_length(texts), 0), fill_value=False))
    if not len(tagged):
        raise InputError("the file has no tags", file=str(path))
    return pc.split_pattern_regex(tagged, r"\s+"), len(texts) - len(tagged)


def _texts(path: Path) -> pa.StringArray:
    """Return the column of tags."""
    ragged: list[csv.InvalidRow] = []
    try:
        column = _column(path, ragged)
    except OSError as error:
        raise unreadable(path, error) from None
    except pa.ArrowKeyError:
        raise InputError(f"there is no column {_COLUMN}", hint=_HINT, file=str(path)) from None
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        if ragged:
            raise _ragged(ragged[0]).at(file=str(path)) from None
        raise InputError(str(error).split("\n")[0], hint=_HINT, file=str(path)) from None
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        row = next(row for row, text in enumerate(column.to_pylist(), 1) if not is_utf8(text))
        raise InputError(f"row {row} is not UTF-8", hint="save the file as UTF-8", file=str(path)) from None


def _column(path: Path, ragged: list[csv.InvalidRow]) -> pa.BinaryArray:
    """Return the column as bytes; a row with the wrong number of columns is appended to `ragged`."""

    def append(row: csv.InvalidRow) -> str:
        ragged.append(row)
        return "error"

    table = csv.read_csv(
        str(path),
        read_options=csv.ReadOptions(use_threads=False),  # threads lose the row numbers
        parse_options=csv.ParseOptions(delimiter="\t", quote_char=False, invalid_row_handler=append),
        convert_options=csv.ConvertOptions(include_columns=[_COLUMN], column_types={_COLUMN: pa.binary()}),
    )
    return table[_COLUMN].combine_chunks()


def _ragged(row: csv.InvalidRow) -> InputError:
    problem = f"expected {row.expected_columns:,} columns as in the header, not {row.actual_columns:,}"
    return InputError(problem, hint="write tabs between columns, and spaces between tags", line=row.number)
