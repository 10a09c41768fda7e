"""Terms and their frequencies, the strings of the workload of [2006 §4.2].

A term file has a term, a tab and a count per line, the most frequent first. A header line may name the
columns; then `term` and `term_freq` or `count` are read and other columns are ignored.

The paper draws strings from the 200 most frequent meaningful terms of a corpus of news reports, which we cannot
redistribute. The default, `news_terms.txt`, is a list of our own of 200 words from business and politics, the most
frequent first, weighted by Zipf. As in a real list, some words are a prefix, suffix or substring of another, which
exercises those operators.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from cbnet.errors import InputError
from cbnet.files import read_text

TERMS = tuple(files(__package__).joinpath("news_terms.txt").read_text(encoding="utf-8").split())
MAX_TERMS = 200  # as in the paper; further lines are ignored
_TERM, _COUNTS = "term", ("term_freq", "count")


@dataclass(frozen=True)
class Terms:
    """Distinct strings and their weights."""

    words: Sequence[str]
    weights: Sequence[float]


def terms(file: Path | None = None) -> Terms:
    """Return the first terms of a file, or the default list weighted by Zipf."""
    if file is None:
        return Terms(TERMS, [1 / rank for rank in range(1, len(TERMS) + 1)])
    lines = read_text(file).splitlines()
    columns, skipped = _columns(lines, file)
    found: dict[str, float] = {}
    for number, line in enumerate(lines[skipped : skipped + MAX_TERMS], skipped + 1):
        word, count = _parsed(line, columns, file, number)
        if word in found:
            raise InputError(f"duplicate term {word!r}", file=str(file), line=number)
        found[word] = count
    if not found:
        raise InputError("no terms in the file", hint="write a term, a tab and a count on each line", file=str(file))
    return Terms(list(found), list(found.values()))


def _columns(lines: Sequence[str], file: Path) -> tuple[tuple[int, int], int]:
    """Return the columns of term and count, and the number of header lines: 0 or 1."""
    names = lines[0].split("\t") if lines else []
    if _TERM not in names:
        return (0, 1), 0
    count = next((name for name in _COUNTS if name in names), None)
    if count is None:
        raise InputError("no column of counts", hint=f"name it {' or '.join(_COUNTS)}", file=str(file), line=1)
    return (names.index(_TERM), names.index(count)), 1


def _parsed(line: str, columns: tuple[int, int], file: Path, number: int) -> tuple[str, float]:
    cells = line.split("\t")
    try:
        word, count = cells[columns[0]], float(cells[columns[1]])
    except (IndexError, ValueError):
        raise InputError("expected a term, a tab and a count", file=str(file), line=number) from None
    if not (word and 0 < count < math.inf):
        raise InputError("empty term, or count not above 0", file=str(file), line=number)
    return word, count
