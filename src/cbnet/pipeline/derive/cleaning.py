"""Normalisation of tags: Unicode form, case, stop words, stems [2014 §4.2.1].

The paper applies "a simple language-based summarization using stemming", and drops duplicate tags. Each step can be
switched off. `Running`, `running` and `runs` become `run`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from unicodedata import normalize

import msgspec
import pyarrow as pa

from cbnet.errors import InputError
from cbnet.pipeline.ingest.list_columns import lengths_of, rows_of, sorted_sets
from cbnet.pipeline.schemas import CLEAN, record_batch

_CACHED_STEMS = 2**18  # per worker: stemming is the slowest step


class Cleaning(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Steps of cleaning, in this order; a tag that becomes empty is dropped."""

    unicode: bool = True  # NFKC: full-width letters, ligatures and composed accents in one form
    case: bool = True  # case-folded: Straße equals STRASSE
    stop: tuple[str, ...] = ()  # tags to drop; folded like the others, not stemmed
    stem: bool = True  # replace each word by its Snowball stem
    language: str = "english"
    duplicates: bool = True  # drop equal sets of a user; equal tags of a set are always dropped

    def check(self) -> None:
        """Raise an error if there is no stemmer for the language."""
        if self.stem:
            _stemmer(self.language)


NO_CLEANING = Cleaning(unicode=False, case=False, stem=False, duplicates=False)


def clean_tag(tag: str, cleaning: Cleaning) -> str:
    """Return the clean form of a tag; empty if the tag is to be dropped."""
    tag = _folded(tag, cleaning)
    if tag in _stops(cleaning):
        return ""
    return _stemmed(tag, cleaning.language) if cleaning.stem else tag


def clean_lists(lists: pa.Array, cleaning: Cleaning) -> pa.Array:
    """Convert lists of tags to sets of clean tags, sorted by code point."""
    return sorted_sets(clean_elements(lists, cleaning), rows_of(lengths_of(lists)), len(lists))


def clean_elements(lists: pa.Array, cleaning: Cleaning) -> pa.Array:
    """Return the clean form of each tag in lists; null for those to be dropped."""
    coded = lists.flatten().dictionary_encode()
    cleaned = [clean_tag(tag, cleaning) or None for tag in coded.dictionary.to_pylist()]
    return pa.array(cleaned, pa.string()).take(coded.indices)


def clean_batches(batches: Iterable[pa.RecordBatch], cleaning: Cleaning) -> Iterator[pa.RecordBatch]:
    """Clean the tags of batches of TAGGED: CLEAN."""
    for batch in batches:
        user, item, lists = batch.columns
        yield record_batch(CLEAN, user, item, clean_lists(lists, cleaning), lengths_of(lists))


def _folded(tag: str, cleaning: Cleaning) -> str:
    if cleaning.unicode:
        tag = normalize("NFKC", tag)
    if cleaning.case:
        tag = tag.casefold()
        tag = normalize("NFKC", tag) if cleaning.unicode else tag  # case folding may break the normal form
    return " ".join(tag.split())


@cache
def _stops(cleaning: Cleaning) -> frozenset[str]:
    return frozenset(_folded(tag, cleaning) for tag in cleaning.stop)


@lru_cache(_CACHED_STEMS)
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
        raise InputError(f"cleaning: no stemmer for language {language!r}", hint=f"known languages: {known}") from None
    return stem
