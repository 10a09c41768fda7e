"""Topics of documents, by latent Dirichlet allocation (Spark's MLlib).

Documents are hash-partitioned by content, so the topics do not depend on the partitions of the input. With more than
two partitions the order in which Spark adds floats can change the last digits of a probability.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import msgspec
from pyspark.ml.clustering import LDA, LDAModel
from pyspark.ml.feature import CountVectorizerModel
from pyspark.ml.functions import vector_to_array
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812, Spark's usual name

from cbnet.errors import InputError

_DOCUMENTS_PER_PARTITION = 20_000
_MIN_PARTITIONS = 2  # the sum of two numbers does not depend on their order


class TopicModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The parameters of [2014 §4.2.1], and those that it omits: iterations, sample, vocabulary."""

    topics: int = 400
    relevance: float = 0.2  # a document is about a topic of more than this probability
    posts: int = 2  # an author is interested in a topic of more posts than this
    tags: int = 10  # per topic
    vocabulary: int = 20_000  # words of most documents; Spark's driver holds topics × vocabulary floats
    iterations: int = 20
    sample: float = 0.05  # of the documents, in each iteration
    offset: float = 10.0  # iterations that the start counts for; with Spark's default, 1024, 20 iterations learn little
    seed: int = 0

    def check(self) -> None:
        """Raise an error for a value out of range."""
        for name in ("topics", "tags", "vocabulary", "iterations"):
            if getattr(self, name) < (2 if name == "topics" else 1):
                raise InputError(f"topics: {name} is too small: {getattr(self, name)}")
        if self.offset <= 0:
            raise InputError(f"topics: offset is too small: {self.offset}", hint="use a number above 0")
        if not 0 <= self.relevance < 1 or not 0 < self.sample <= 1 or self.posts < 0:
            raise InputError("topics: relevance and sample must be from 0 to 1, posts 0 or more")


@dataclass(frozen=True)
class Topics:
    """Documents with the numbers of their topics, and the tags of each topic."""

    documents: DataFrame  # user, item, topics array<int>
    tags: list[list[str]]  # of each topic, sorted


def find_topics(documents: DataFrame, model: TopicModel) -> Topics:
    """Learn topics from documents (DOCUMENTS) and assign each document its topics."""
    model.check()
    documents = documents.persist()
    try:
        words = _most_frequent(documents, model.vocabulary)
        if not words:
            return Topics(documents.select("user", "item", F.array().cast("array<int>").alias("topics")), [])
        vectors = _vectors(documents, words)
        fitted = _fit(vectors, model)
    finally:
        documents.unpersist()
    shares = vector_to_array(F.col("topicDistribution")).alias("shares")
    about = F.expr(f"array_compact(transform(shares, (share, topic) -> if(share > {model.relevance}D, topic, null)))")
    assigned = fitted.transform(vectors).select("user", "item", shares).select("user", "item", about.alias("topics"))
    tops = fitted.describeTopics(model.tags).orderBy("topic").collect()
    return Topics(assigned, [sorted(words[index] for index in top.termIndices) for top in tops])


def _fit(vectors: DataFrame, model: TopicModel) -> LDAModel:
    lda = LDA(
        k=model.topics, maxIter=model.iterations, subsamplingRate=model.sample, learningOffset=model.offset,
        seed=model.seed, optimizer="online",
    )  # fmt: skip
    vectors = vectors.persist()
    try:
        return lda.fit(vectors)
    finally:
        vectors.unpersist()


def _most_frequent(documents: DataFrame, count: int) -> list[str]:
    """Return the words of most documents, ties by code point."""
    counts = documents.select(F.explode(F.array_distinct("words")).alias("word")).groupBy("word").count()
    return [word for word, _ in counts.orderBy(F.desc("count"), "word").limit(count).collect()]


def _vectors(documents: DataFrame, words: list[str]) -> DataFrame:
    """Return documents with vectors of their counts; equal documents always give equal partitions."""
    repeated = F.flatten(F.zip_with("words", "counts", lambda word, count: F.array_repeat(word, count)))
    counter = CountVectorizerModel.from_vocabulary(words, inputCol="tokens", outputCol="features")
    vectors = counter.transform(documents.withColumn("tokens", repeated)).drop("tokens")
    partitions = max(_MIN_PARTITIONS, ceil(documents.count() / _DOCUMENTS_PER_PARTITION))
    key = [F.col(name) for name in ("user", "item", "words", "counts")]
    return vectors.repartition(partitions, F.xxhash64(*key)).sortWithinPartitions(*key)
