"""Descriptor file: which sets of tags does a file hold, and at which nodes are they registered?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from cbnet.cli.console import plural, print_note
from cbnet.errors import InputError
from cbnet.files import unreadable

if TYPE_CHECKING:
    from cbnet.routing.sizing.descriptor_sets import DescriptorSets

_COLUMN = "tags"
_HINT = "write a head such as user, item, tags, with tabs between"


def spread_descriptors(path: Path, nodes: int, seed: int) -> DescriptorSets:
    """Return the descriptors of a file, each at a random one of so many nodes."""
    from cbnet.routing.sizing.descriptor_sets import DescriptorSets

    tags = read_tags(path)
    return DescriptorSets(np.random.default_rng(seed).integers(nodes, size=len(tags), dtype=np.int32), tags)


def read_tags(path: Path) -> pa.ListArray:
    """Return the column `tags` of a file with tabs between columns and spaces between tags, without empty rows."""
    said = pc.utf8_trim_whitespace(_texts(path))
    found = said.filter(pc.fill_null(pc.greater(pc.utf8_length(said), 0), fill_value=False))
    if len(found) < len(said):
        print_note(f"{path}: {plural(len(said) - len(found), 'row')} without tags left out")
    if not len(found):
        raise InputError("there are no tags", file=str(path))
    return pc.split_pattern_regex(found, r"\s+")


def _texts(path: Path) -> pa.StringArray:
    """Return the column as it is, or say what is wrong with the file."""
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
        row = next(row for row, text in enumerate(column.to_pylist(), 1) if not _is_utf8(text))
        raise InputError(f"row {row} is not UTF-8", hint="save the file as UTF-8", file=str(path)) from None


def _column(path: Path, ragged: list[csv.InvalidRow]) -> pa.BinaryArray:
    """Return the column as bytes; the first row that has more or fewer columns than the head goes to `ragged`."""

    def note(row: csv.InvalidRow) -> str:
        ragged.append(row)
        return "error"

    table = csv.read_csv(
        str(path),
        read_options=csv.ReadOptions(use_threads=False),  # else rows have no numbers
        parse_options=csv.ParseOptions(delimiter="\t", quote_char=False, invalid_row_handler=note),
        convert_options=csv.ConvertOptions(include_columns=[_COLUMN], column_types={_COLUMN: pa.binary()}),
    )
    return table[_COLUMN].combine_chunks()


def _ragged(row: csv.InvalidRow) -> InputError:
    problem = f"the head has {plural(row.expected_columns, 'column')}, and this line has {row.actual_columns:,}"
    return InputError(problem, hint="write tabs between columns, and spaces between tags", line=row.number)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
