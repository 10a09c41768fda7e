"""Topics: what is each document about, and which words say so? Latent Dirichlet allocation, by Spark's MLlib.

Documents are spread over partitions by what they hold, so that the topics do not depend on how the files were cut. With
more than two partitions the order in which Spark adds their numbers up can change the last digits of a probability.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import msgspec
from pyspark.ml.clustering import LDA, LDAModel
from pyspark.ml.feature import CountVectorizerModel
from pyspark.ml.functions import vector_to_array
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812, the name that Spark's own documents use

from cbnet.errors import InputError

_DOCUMENTS_A_PARTITION = 20_000
_ALWAYS = 2  # partitions: in whatever order two numbers are added, the sum is the same


class TopicModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The parameters of [2014 §4.2.1], and what it does not tell: how long to learn, and from how many words."""

    topics: int = 400
    relevance: float = 0.2  # a document is about a topic if its probability is more than this
    posts: int = 2  # an author is interested in a topic with more relevant posts than this
    tags: int = 10  # that describe a topic
    vocabulary: int = 20_000  # words, those of most documents; Spark's driver holds a number for each and each topic
    iterations: int = 20
    sample: float = 0.05  # of the documents, in each iteration
    offset: float = 10.0  # iterations that the start counts for; Spark's own 1024 would hardly learn in 20
    seed: int = 0

    def check(self) -> None:
        """Check the ranges."""
        for name in ("topics", "tags", "vocabulary", "iterations"):
            if getattr(self, name) < (2 if name == "topics" else 1):
                raise InputError(f"topics: {name} is too small: {getattr(self, name)}")
        if self.offset <= 0:
            raise InputError(f"topics: offset is too small: {self.offset}", hint="use a number above 0")
        if not 0 <= self.relevance < 1 or not 0 < self.sample <= 1 or self.posts < 0:
            raise InputError("topics: relevance and sample are shares from 0 to 1, posts a number from 0")


@dataclass(frozen=True)
class Topics:
    """What was found: documents with the numbers of the topics they are about, and the tags of each topic."""

    documents: DataFrame  # user, item, topics array<int>
    tags: list[list[str]]  # sorted; as many lists as topics, so nothing that grows with the documents


def find_topics(documents: DataFrame, model: TopicModel) -> Topics:
    """Find the topics of documents, given in the schema DOCUMENTS."""
    model.check()
    documents = documents.persist()
    try:
        words = _most_frequent(documents, model.vocabulary)
        if not words:
            return Topics(documents.select("user", "item", F.array().cast("array<int>").alias("topics")), [])
        vectors = _vectors(documents, words)
        fitted = _fitted(vectors, model)
    finally:
        documents.unpersist()
    shares = vector_to_array(F.col("topicDistribution")).alias("shares")
    about = F.expr(f"array_compact(transform(shares, (share, topic) -> if(share > {model.relevance}D, topic, null)))")
    found = fitted.transform(vectors).select("user", "item", shares).select("user", "item", about.alias("topics"))
    tops = fitted.describeTopics(model.tags).orderBy("topic").collect()
    return Topics(found, [sorted(words[place] for place in top.termIndices) for top in tops])


def _fitted(vectors: DataFrame, model: TopicModel) -> LDAModel:
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
    """Return the words that most documents have, ties by code point."""
    of_each = documents.select(F.explode(F.array_distinct("words")).alias("word")).groupBy("word").count()
    return [word for word, _ in of_each.orderBy(F.desc("count"), "word").limit(count).collect()]


def _vectors(documents: DataFrame, words: list[str]) -> DataFrame:
    """Return documents with a vector of their counts, the same in every partition for the same documents."""
    repeated = F.flatten(F.zip_with("words", "counts", lambda word, count: F.array_repeat(word, count)))
    counter = CountVectorizerModel.from_vocabulary(words, inputCol="tokens", outputCol="features")
    found = counter.transform(documents.withColumn("tokens", repeated)).drop("tokens")
    partitions = max(_ALWAYS, ceil(documents.count() / _DOCUMENTS_A_PARTITION))
    key = [F.col(name) for name in ("user", "item", "words", "counts")]
    return found.repartition(partitions, F.xxhash64(*key)).sortWithinPartitions(*key)
