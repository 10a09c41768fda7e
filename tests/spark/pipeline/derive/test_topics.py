import random

import pytest

from cbnet.errors import InputError
from cbnet.pipeline.derive.topics import TopicModel, find_topics
from cbnet.pipeline.schemas import DOCUMENTS

THEMES = [[f"{theme}{number}" for number in range(8)] for theme in ("sea", "sky", "sun")]
MODEL = TopicModel(topics=3, tags=4, iterations=8, sample=1.0, seed=3)


def documents(count=60):
    """Make documents of one theme each, whose four first words are the most frequent, and an empty one."""
    rng = random.Random(4)
    for number in range(count):
        words = THEMES[number % 3]
        counts = {word: rng.randint(5, 9) if place < 4 else rng.randint(0, 1) for place, word in enumerate(words)}
        words = sorted(word for word, count in counts.items() if count)
        yield f"u{number % 3}", str(number), words, [counts[word] for word in words]
    yield "nobody", "empty", [], []


def found_in(topics):
    return {row.item: row.topics for row in topics.documents.collect()}


@pytest.mark.parametrize("partitions", [1, 7])
def test_topics_are_the_themes_in_any_partitioning(frame, partitions):
    topics = find_topics(frame(documents(), DOCUMENTS, partitions), MODEL)
    about = found_in(topics)
    assert about.pop("empty") == []
    numbers = [about[str(theme)] for theme in range(3)]  # LDA names topics by chance: take the first documents' names
    assert sorted(numbers) == [[0], [1], [2]]
    assert about == {str(number): numbers[number % 3] for number in range(60)}
    assert [topics.tags[number] for [number] in numbers] == [theme[:4] for theme in THEMES]


def test_only_topics_above_the_relevance_limit_are_assigned(frame):
    shares = find_topics(
        frame(documents(9), DOCUMENTS), TopicModel(topics=3, iterations=5, sample=1.0, relevance=0.999)
    )
    assert set(map(tuple, found_in(shares).values())) == {()}


def test_vocabulary_is_the_words_of_most_documents(frame):
    rows = [("u", str(n), [*"abc"[: n + 1]], [1] * (n + 1)) for n in range(3)] + [("u", "3", ["b"], [50])]
    topics = find_topics(frame(rows, DOCUMENTS), TopicModel(topics=2, vocabulary=2, tags=9, iterations=1, sample=1.0))
    assert topics.tags == [["a", "b"]] * 2


def test_documents_without_words_have_no_topics(frame):
    topics = find_topics(frame([("u", "i", [], [])], DOCUMENTS, 1), MODEL)
    assert (found_in(topics), topics.tags) == ({"i": []}, [])


@pytest.mark.parametrize(
    "wrong",
    [
        {"topics": 1},
        {"tags": 0},
        {"relevance": 1.0},
        {"sample": 0.0},
        {"posts": -1},
        {"iterations": 0},
        {"offset": 0.0},
    ],
)
def test_parameters_out_of_range_are_refused(wrong):
    with pytest.raises(InputError, match="topics: "):
        TopicModel(**wrong).check()
