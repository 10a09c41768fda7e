"""Descriptor file: which sets of tags does a file hold, and at which nodes are they registered?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from cbnet.cli.output import counted, print_remark
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.routing.descriptors import Descriptors

_COLUMN = "tags"


def spread_descriptors(path: Path, nodes: int, seed: int) -> Descriptors:
    """Return the descriptors of a file, each at a random one of so many nodes."""
    from cbnet.routing.descriptors import Descriptors

    tags = read_tags(path)
    return Descriptors(np.random.default_rng(seed).integers(nodes, size=len(tags), dtype=np.int32), tags)


def read_tags(path: Path) -> pa.ListArray:
    """Return the column `tags` of a file with tabs between columns and spaces between tags, without empty rows."""
    try:
        table = csv.read_csv(
            str(path),
            parse_options=csv.ParseOptions(delimiter="\t", quote_char=False),
            convert_options=csv.ConvertOptions(include_columns=[_COLUMN], column_types={_COLUMN: pa.string()}),
        )
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror or error}", file=str(path)) from None
    except (pa.ArrowInvalid, KeyError, UnicodeDecodeError) as error:
        problem = str(error).strip("'\"").split("\n")[0]
        raise InputError(
            problem, hint="write a head such as user, item, tags, with tabs between", file=str(path)
        ) from None
    said = pc.utf8_trim_whitespace(table[_COLUMN].combine_chunks())
    found = said.filter(pc.fill_null(pc.greater(pc.utf8_length(said), 0), fill_value=False))
    if len(found) < len(said):
        print_remark(f"{path}: {counted(len(said) - len(found), 'row')} without tags left out")
    if not len(found):
        raise InputError("there are no tags", file=str(path))
    return pc.split_pattern_regex(found, r"\s+")
