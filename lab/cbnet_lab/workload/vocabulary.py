"""Strings of workloads: random words of a dictionary, and terms with their frequencies.

The papers chose random words of a common dictionary [2001 §4.1, 2002 §5.1]. Here it is the one passed
by the caller, or else the system's; without either, words are generated from pronounceable syllables.
The same count, seed and dictionary give the same words on every machine.

The terms are the strings of the workload of [2006 §4.2]. A term file has a term, a tab and a count per line, the most
frequent first. A header line may name the columns; then `term` and `term_freq` or `count` are read and other columns
are ignored. The paper draws strings from the 200 most frequent meaningful terms of a corpus of news reports, which we
cannot redistribute. The default, `news_terms.txt`, is a list of our own of 200 words from business and politics, the
most frequent first, weighted by Zipf. As in a real list, some words are a prefix, suffix or substring of another, which
exercises those operators.
"""

from __future__ import annotations

import gzip
import math
import random
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from cbnet.errors import InputError
from cbnet.files import read_text, unreadable

SYSTEM_DICTIONARIES = (Path("/usr/share/dict/words"), Path("/usr/share/dict/american-english"))

# Generated words are about as long as English ones and as often part of each other, so that prefix,
# suffix and substring constraints match as often. For 1000 words, the mean length and the pairs in a
# million where one word starts, ends, contains another: 8.4, 73, 40, 230; in English 8.2, 66, 31, 270.
_SYLLABLES = {1: 4, 2: 40, 3: 40, 4: 16}  # number -> share in per cent
_MIN_LENGTH = 3
_ONSETS = (*"bcdfghjklmnprstvw", "ch", "sh", "st", "tr", "pl", "br", "gr")
_VOWELS = (*"aeiouaeio", "ea", "ou")
_CODAS = ("", "", "", *"nrstl")
TERMS = tuple(files(__package__).joinpath("news_terms.txt").read_text(encoding="utf-8").split())
MAX_TERMS = 200  # as in the paper; further lines are ignored
_TERM, _COUNTS = "term", ("term_freq", "count")


def words(count: int, seed: int | str, dictionary: Path | None = None) -> list[str]:
    """Return `count` distinct words in random order; `dictionary` has one word per line and may be gzipped."""
    rng = random.Random(seed)
    path = dictionary or next((each for each in SYSTEM_DICTIONARIES if each.is_file()), None)
    return _generate(count, rng) if path is None else _sample(count, rng, path)


def _sample(count: int, rng: random.Random, dictionary: Path) -> list[str]:
    known = _read(dictionary)
    if count > len(known):
        raise InputError(
            f"the dictionary has {len(known):,} plain words, not {count:,}",
            hint="use a smaller number",
            file=str(dictionary),
        )
    return rng.sample(known, count)


@cache
def _read(dictionary: Path) -> list[str]:
    """Return the plain words of a dictionary, without proper names, genitives and accents."""
    open_file = gzip.open if dictionary.suffix == ".gz" else open
    try:
        with open_file(dictionary, "rt", encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except (OSError, EOFError, zlib.error) as error:  # the latter two: a damaged .gz
        raise unreadable(dictionary, error) from None
    return sorted({line for line in lines if line.isascii() and line.isalpha() and line.islower()})


def _generate(count: int, rng: random.Random) -> list[str]:
    found: dict[str, None] = {}  # a set that keeps its order
    while len(found) < count:
        word = _word(rng)
        if len(word) >= _MIN_LENGTH:
            found[word] = None
    return list(found)


def _word(rng: random.Random) -> str:
    (syllables,) = rng.choices(list(_SYLLABLES), list(_SYLLABLES.values()))
    return "".join(rng.choice(part) for _ in range(syllables) for part in (_ONSETS, _VOWELS, _CODAS))


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
