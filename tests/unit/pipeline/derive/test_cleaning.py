import unicodedata

import msgspec
import pyarrow as pa
import pytest
import snowballstemmer
from hypothesis import given
from hypothesis import strategies as st

from cbnet.errors import InputError
from cbnet.pipeline.derive.cleaning import NO_CLEANING, Cleaning, clean_batches, clean_lists, clean_tag

ONLY_STEM = Cleaning(unicode=False, case=False)
ONLY_CASE = Cleaning(unicode=False, stem=False)
ONLY_UNICODE = Cleaning(case=False, stem=False)


def test_each_step_can_be_switched_off():
    tag = "Ｒunning"  # a full-width R
    assert clean_tag(tag, Cleaning()) == "run"
    assert clean_tag(tag, NO_CLEANING) == tag
    assert clean_tag(tag, ONLY_UNICODE) == "Running"
    assert clean_tag(tag, ONLY_CASE) == "ｒunning"
    assert clean_tag("Running", ONLY_STEM) == "Run"


def test_case_is_folded_and_not_only_lowered():
    assert clean_tag("STRASSE", ONLY_CASE) == clean_tag("Straße", ONLY_CASE) == "strasse"


@pytest.mark.parametrize(
    ("one", "other"), [("café", "cafe\u0301"), ("ﬁlm", "film"), ("①", "1"), ("ｆｏｏ", "foo"), ("K", "K")]
)
def test_unicode_forms_of_one_text_are_equal(one, other):
    assert clean_tag(one, ONLY_UNICODE) == clean_tag(other, ONLY_UNICODE)


@given(st.text(max_size=5))
def test_folding_is_idempotent(tag):
    folding = Cleaning(stem=False)
    once = clean_tag(tag, folding)
    assert clean_tag(once, folding) == once
    assert unicodedata.is_normalized("NFKC", once)


def test_each_word_is_stemmed_by_snowball():
    stem = snowballstemmer.stemmer("english").stemWord
    for tag in ("connected", "connection", "generously", "ponies", "logan paul vlogs"):
        assert clean_tag(tag, Cleaning()) == " ".join(map(stem, tag.split()))
    assert clean_tag("connections", Cleaning()) == "connect"
    assert clean_tag("chevaux", Cleaning(language="french")) == snowballstemmer.stemmer("french").stemWord("chevaux")


def test_unknown_language_is_refused_before_the_job_runs():
    with pytest.raises(InputError, match=r"no stemmer for language 'klingon'.*english"):
        Cleaning(language="klingon").check()
    Cleaning(language="klingon", stem=False).check()


def test_stop_tags_are_dropped_in_any_case_and_form_but_not_by_stem():
    cleaning = Cleaning(stop=("ToDo", "the"))
    assert [clean_tag(tag, cleaning) for tag in ("todo", "TODO", "ｔhe", "todos", "them")] == [
        "",
        "",
        "",
        "todo",
        "them",
    ]


def test_white_space_is_normalised():
    assert clean_tag("  New\u00a0 York\t", NO_CLEANING) == "New York"
    assert clean_tag(" ", Cleaning()) == ""


@given(
    st.lists(
        st.lists(st.sampled_from(["Run", "runs", "run", "b", "B", "é", "stop", " ", "Z z"]), max_size=5), max_size=6
    )
)
def test_lists_become_sorted_sets_of_clean_tags(lists):
    cleaning = Cleaning(stop=("stop",))
    found = clean_lists(pa.array(lists, pa.list_(pa.string())), cleaning)
    assert found.to_pylist() == [sorted({clean_tag(tag, cleaning) for tag in tags} - {""}) for tags in lists]


def test_batch_has_the_number_of_raw_tags():
    batch = pa.RecordBatch.from_pydict({"user": ["u", "v"], "item": [None, "i"], "tags": [["a", "A", "b"], []]})
    [cleaned] = clean_batches([batch], Cleaning())
    assert cleaned.to_pylist() == [
        {"user": "u", "item": None, "tags": ["a", "b"], "raw_tags": 3},
        {"user": "v", "item": "i", "tags": [], "raw_tags": 0},
    ]
    assert cleaned.schema.field("raw_tags").type == pa.int32()


def test_configuration_section_defines_the_cleaning():
    assert msgspec.convert({"stem": False, "stop": ["a"]}, Cleaning) == Cleaning(stem=False, stop=("a",))
