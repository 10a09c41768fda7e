"""Cleaning: when do two users who write different tags mean the same one? [2014 §4.2.1]

The paper applies "a simple language-based summarization using stemming", and drops duplicate tags. Each step here is a
switch: `Running`, `running` and `runs` become `run`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from unicodedata import normalize

import msgspec
import numpy as np
import pyarrow as pa

from cbnet.errors import InputError
from cbnet.pipeline.spark.list_columns import lengths_of, rows_of, sorted_sets

_REMEMBERED = 2**18  # tags whose stem a worker keeps in mind: stemming takes longer than anything else here


class Cleaning(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is done to tags, in this order; a tag of which nothing is left is dropped."""

    unicode: bool = True  # NFKC: full-width letters, ligatures and composed accents in one form
    case: bool = True  # folded: Straße and STRASSE are one
    stop: tuple[str, ...] = ()  # tags that say nothing, dropped; folded like the others, not stemmed
    stem: bool = True  # each word of a tag to its stem, by Snowball's rules for the language
    language: str = "english"
    duplicates: bool = True  # equal sets of one user are one; equal tags of one set always are

    def check(self) -> None:
        """Check that there are rules for the language."""
        if self.stem:
            _stemmer(self.language)


NO_CLEANING = Cleaning(unicode=False, case=False, stem=False, duplicates=False)


def clean_tag(tag: str, cleaning: Cleaning) -> str:
    """Return a tag as it is to be compared; empty if it says nothing."""
    tag = _folded(tag, cleaning)
    if tag in _stops(cleaning):
        return ""
    return _stemmed(tag, cleaning.language) if cleaning.stem else tag


def clean_lists(lists: pa.Array, cleaning: Cleaning) -> pa.Array:
    """Return lists of tags as sets of clean tags, sorted by code point."""
    coded = lists.flatten().dictionary_encode()
    cleaned = [clean_tag(tag, cleaning) or None for tag in coded.dictionary.to_pylist()]
    tags = pa.array(cleaned, pa.string()).take(coded.indices)
    return sorted_sets(tags, rows_of(lengths_of(lists)), len(lists))


def clean_batches(batches: Iterable[pa.RecordBatch], cleaning: Cleaning) -> Iterator[pa.RecordBatch]:
    """Return batches of user, item and tags with clean tags, and `given`: how many tags there were before."""
    for batch in batches:
        user, item, lists = batch.columns
        given = pa.array(lengths_of(lists).astype(np.int32))
        columns = [user, item, clean_lists(lists, cleaning), given]
        yield pa.RecordBatch.from_arrays(columns, ["user", "item", "tags", "given"])


def _folded(tag: str, cleaning: Cleaning) -> str:
    if cleaning.unicode:
        tag = normalize("NFKC", tag)
    if cleaning.case:
        tag = tag.casefold()
        tag = normalize("NFKC", tag) if cleaning.unicode else tag  # folding may take a form apart again
    return " ".join(tag.split())


@cache
def _stops(cleaning: Cleaning) -> frozenset[str]:
    return frozenset(_folded(tag, cleaning) for tag in cleaning.stop)


@lru_cache(_REMEMBERED)
def _stemmed(tag: str, language: str) -> str:
    stem = _stemmer(language)
    return " ".join(stem(word) for word in tag.split(" "))


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    import snowballstemmer

    try:
        stem: Callable[[str], str] = snowballstemmer.stemmer(language).stemWord
    except KeyError:
        known = ", ".join(sorted(snowballstemmer.algorithms()))
        raise InputError(f"cleaning: there are no stems for {language!r}", hint=f"there are for {known}") from None
    return stem
