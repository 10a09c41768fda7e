"""Terms: which strings do users compare with, and how often each? [2006 §4.2]

A file of terms has a term and a count to a line, separated by tabs, the commonest first. A first line
may name the columns; then `term` and `term_freq` or `count` are read, and others are skipped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cbnet.errors import InputError
from cbnet.lab.workload.news_terms import TERMS

MOST = 200  # as in the paper; what stands further down in a file is left out
_TERM, _COUNTS = "term", ("term_freq", "count")


@dataclass(frozen=True)
class Terms:
    """Distinct strings and their weights."""

    words: Sequence[str]
    weights: Sequence[float]


def terms(file: Path | None = None) -> Terms:
    """Return the first terms of a file; without a file, words of our own weighted by Zipf."""
    if file is None:
        return Terms(TERMS, [1 / rank for rank in range(1, len(TERMS) + 1)])
    lines = _lines(file)
    columns, skipped = _columns(lines, file)
    found: dict[str, float] = {}
    for number, line in enumerate(lines[skipped : skipped + MOST], skipped + 1):
        word, count = _parsed(line, columns, file, number)
        if word in found:
            raise InputError(f"the term {word!r} is there twice", file=str(file), line=number)
        found[word] = count
    if not found:
        raise InputError("there are no terms", hint="write a term, a tab and a count to a line", file=str(file))
    return Terms(list(found), list(found.values()))


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"cannot read the terms: {error.strerror}", file=str(file)) from None
    except UnicodeDecodeError:
        raise InputError("the terms are not UTF-8", file=str(file)) from None


def _columns(lines: Sequence[str], file: Path) -> tuple[tuple[int, int], int]:
    """Return where term and count stand in a line, and how many lines name the columns: 0 or 1."""
    names = lines[0].split("\t") if lines else []
    if _TERM not in names:
        return (0, 1), 0
    count = next((name for name in _COUNTS if name in names), None)
    if count is None:
        raise InputError("no column counts the terms", hint=f"call it {' or '.join(_COUNTS)}", file=str(file), line=1)
    return (names.index(_TERM), names.index(count)), 1


def _parsed(line: str, columns: tuple[int, int], file: Path, number: int) -> tuple[str, float]:
    cells = line.split("\t")
    try:
        word, count = cells[columns[0]], float(cells[columns[1]])
    except (IndexError, ValueError):
        raise InputError("expected a term, a tab and a count", file=str(file), line=number) from None
    if not (word and 0 < count < math.inf):
        raise InputError("a term is empty, or its count is not above 0", file=str(file), line=number)
    return word, count
