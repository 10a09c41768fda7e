from collections import Counter

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from cbnet.pipeline.derive.blogs import clean_counts, count_words, words_of
from cbnet.pipeline.derive.cleaning import Cleaning, clean_tag
from cbnet.pipeline.schemas import DOCUMENTS, arrow_schema


def test_words_have_at_least_two_letters():
    assert words_of("It's 7 o'clock: köln_is 3D, été!") == ["It", "clock", "köln", "is", "été"]
    assert words_of("") == []


@given(st.lists(st.text(st.sampled_from("aAbB rs7"), max_size=20), max_size=4))
def test_texts_are_counted_word_by_word(texts):
    cleaning = Cleaning(stop=("ab",))
    batch = pa.RecordBatch.from_pydict(
        {"user": ["u"] * len(texts), "item": ["i"] * len(texts), "text": texts},
        pa.schema([("user", pa.string()), ("item", pa.string()), ("text", pa.string())]),
    )
    [found] = count_words([batch], cleaning)
    assert found.schema == arrow_schema(DOCUMENTS)
    expected = [Counter(clean_tag(word, cleaning) for word in words_of(text)) for text in texts]
    for row, counts in zip(found.to_pylist(), expected, strict=True):
        counts.pop("", None)
        assert (row["words"], row["counts"]) == (sorted(counts), [counts[word] for word in sorted(counts)])


def test_counts_of_words_with_one_stem_are_added():
    batch = pa.RecordBatch.from_pydict(
        {"item": ["0", "1"], "words": [["runs", "the", "running"], []], "counts": [[2, 5, 1], []]}
    )
    [found] = clean_counts([batch], Cleaning(stop=("the",)))
    assert found.to_pylist() == [
        {"user": None, "item": "0", "words": ["run"], "counts": [3]},
        {"user": None, "item": "1", "words": [], "counts": []},
    ]
    assert found.schema == arrow_schema(DOCUMENTS)
