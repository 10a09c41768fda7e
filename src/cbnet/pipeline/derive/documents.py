"""Documents: which clean words has a text, and how often each?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.ml.feature import StopWordsRemover
from pyspark.sql import DataFrame

from cbnet.pipeline.derive.cleaning import Cleaning, clean_tag
from cbnet.pipeline.schemas import COUNTS, DOCUMENTS, POSTS, arrow_schema
from cbnet.pipeline.spark.list_columns import Numbers, counted_sets, lengths_of, rows_of

_WORD = re.compile(r"[^\W\d_]{2,}")  # letters alone, at least two


def documents_of_posts(posts: DataFrame, cleaning: Cleaning) -> DataFrame:
    """Return the words of posts (POSTS) as DOCUMENTS, without those that every text of the language is full of."""
    cleaning.check()
    common = StopWordsRemover.loadDefaultStopWords(cleaning.language)
    parts = [part for word in common for part in words_of(word)]  # "don't" is "don" here
    cleaning = msgspec.structs.replace(cleaning, stop=(*cleaning.stop, *parts))
    return posts.select(*POSTS.names).mapInArrow(partial(count_words, cleaning=cleaning), DOCUMENTS)


def documents_of_counts(counts: DataFrame, cleaning: Cleaning) -> DataFrame:
    """Return word counts (COUNTS) as DOCUMENTS; who wrote them is not known here."""
    cleaning.check()
    return counts.select(*COUNTS.names).mapInArrow(partial(clean_counts, cleaning=cleaning), DOCUMENTS)


def words_of(text: str) -> list[str]:
    """Return the words of a text in their order."""
    return _WORD.findall(text)


def count_words(batches: Iterable[pa.RecordBatch], cleaning: Cleaning) -> Iterator[pa.RecordBatch]:
    """Return batches of user, item and text as batches of DOCUMENTS."""
    for batch in batches:
        user, item, texts = batch.columns
        lists = pa.array([words_of(text or "") for text in texts.to_pylist()], pa.list_(pa.string()))
        yield _counted(user, item, lists, np.ones(len(lists.flatten()), dtype=np.int64), cleaning)


def clean_counts(batches: Iterable[pa.RecordBatch], cleaning: Cleaning) -> Iterator[pa.RecordBatch]:
    """Return batches of item, words and counts as batches of DOCUMENTS; words of one stem are one."""
    for batch in batches:
        item, lists, counts = batch.columns
        weights = counts.flatten().to_numpy(zero_copy_only=False).astype(np.int64)
        yield _counted(pa.nulls(len(item), pa.string()), item, lists, weights, cleaning)


def _counted(user: pa.Array, item: pa.Array, lists: pa.Array, weights: Numbers, cleaning: Cleaning) -> pa.RecordBatch:
    coded = lists.flatten().dictionary_encode()
    cleaned = [clean_tag(word, cleaning) or None for word in coded.dictionary.to_pylist()]
    words = pa.array(cleaned, pa.string()).take(coded.indices)
    found, counts = counted_sets(words, rows_of(lengths_of(lists)), weights, len(lists))
    counts = counts.cast(pa.list_(pa.int32()))
    return pa.RecordBatch.from_arrays([user, item, found, counts], schema=arrow_schema(DOCUMENTS))
