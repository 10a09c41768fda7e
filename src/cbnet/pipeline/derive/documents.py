"""Documents: clean words of texts, with counts."""

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
from cbnet.pipeline.spark.list_columns import Numbers, lengths_of, rows_of, sets_with_counts

_WORD = re.compile(r"[^\W\d_]{2,}")  # two or more letters


def documents_of_posts(posts: DataFrame, cleaning: Cleaning) -> DataFrame:
    """Return the words of posts (POSTS) as DOCUMENTS, without the stop words of the language."""
    cleaning.check()
    stop_words = StopWordsRemover.loadDefaultStopWords(cleaning.language)
    parts = [part for word in stop_words for part in words_of(word)]  # "don't" is "don" here
    cleaning = msgspec.structs.replace(cleaning, stop=(*cleaning.stop, *parts))
    return posts.select(*POSTS.names).mapInArrow(partial(count_words, cleaning=cleaning), DOCUMENTS)


def documents_of_counts(counts: DataFrame, cleaning: Cleaning) -> DataFrame:
    """Return word counts (COUNTS) as DOCUMENTS without users."""
    cleaning.check()
    return counts.select(*COUNTS.names).mapInArrow(partial(clean_counts, cleaning=cleaning), DOCUMENTS)


def words_of(text: str) -> list[str]:
    """Return the words of a text, in order."""
    return _WORD.findall(text)


def count_words(batches: Iterable[pa.RecordBatch], cleaning: Cleaning) -> Iterator[pa.RecordBatch]:
    """Convert batches of user, item and text to batches of DOCUMENTS."""
    for batch in batches:
        user, item, texts = batch.columns
        lists = pa.array([words_of(text or "") for text in texts.to_pylist()], pa.list_(pa.string()))
        yield _documents(user, item, lists, np.ones(len(lists.flatten()), dtype=np.int64), cleaning)


def clean_counts(batches: Iterable[pa.RecordBatch], cleaning: Cleaning) -> Iterator[pa.RecordBatch]:
    """Convert batches of item, words and counts to batches of DOCUMENTS; words of one stem are merged."""
    for batch in batches:
        item, lists, counts = batch.columns
        weights = counts.flatten().to_numpy(zero_copy_only=False).astype(np.int64)
        yield _documents(pa.nulls(len(item), pa.string()), item, lists, weights, cleaning)


def _documents(user: pa.Array, item: pa.Array, lists: pa.Array, weights: Numbers, cleaning: Cleaning) -> pa.RecordBatch:
    coded = lists.flatten().dictionary_encode()
    cleaned = [clean_tag(word, cleaning) or None for word in coded.dictionary.to_pylist()]
    words = pa.array(cleaned, pa.string()).take(coded.indices)
    distinct, counts = sets_with_counts(words, rows_of(lengths_of(lists)), weights, len(lists))
    counts = counts.cast(pa.list_(pa.int32()))
    return pa.RecordBatch.from_arrays([user, item, distinct, counts], schema=arrow_schema(DOCUMENTS))
