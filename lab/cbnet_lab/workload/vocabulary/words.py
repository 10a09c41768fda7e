"""Random words for names and values: a seeded sample of a dictionary.

The papers chose random words of a common dictionary [2001 §4.1, 2002 §5.1]. Here it is the one passed
by the caller, or else the system's; without either, words are generated from pronounceable syllables.
The same count, seed and dictionary give the same words on every machine.
"""

from __future__ import annotations

import gzip
import random
import zlib
from functools import cache
from pathlib import Path

from cbnet.errors import InputError
from cbnet.files import unreadable

SYSTEM_DICTIONARIES = (Path("/usr/share/dict/words"), Path("/usr/share/dict/american-english"))

# Generated words are about as long as English ones and as often part of each other, so that prefix,
# suffix and substring constraints match as often. For 1000 words, the mean length and the pairs in a
# million where one word starts, ends, contains another: 8.4, 73, 40, 230; in English 8.2, 66, 31, 270.
_SYLLABLES = {1: 4, 2: 40, 3: 40, 4: 16}  # number -> share in per cent
_MIN_LENGTH = 3
_ONSETS = (*"bcdfghjklmnprstvw", "ch", "sh", "st", "tr", "pl", "br", "gr")
_VOWELS = (*"aeiouaeio", "ea", "ou")
_CODAS = ("", "", "", *"nrstl")


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
