import pytest

from cbnet.errors import InputError
from cbnet_lab.workload.vocabulary import TERMS, terms


def test_our_own_terms_are_200_distinct_words_weighted_by_zipf():
    own = terms()
    assert len(own.words) == len(set(TERMS)) == 200
    assert all(word.isalpha() and word.islower() for word in own.words)
    assert own.weights[:4] == [1, 1 / 2, 1 / 3, 1 / 4]


def test_a_file_may_name_its_columns(tmp_path):
    file = tmp_path / "terms.tsv"
    file.write_text("rank\tterm\tdoc_freq\tterm_freq\n1\tyear\t30\t70\n2\tnet\t20\t60\n")
    assert terms(file).words == ["year", "net"]
    assert terms(file).weights == [70, 60]
    file.write_text("term\tcount\nyear\t7.5\n")
    assert terms(file).weights == [7.5]


def test_a_file_may_have_a_term_and_a_count_to_a_line(tmp_path):
    file = tmp_path / "terms.tsv"
    file.write_text("new york\t3\nterms\t2\n", encoding="utf-8")
    assert terms(file).words == ["new york", "terms"]


def test_only_the_first_200_terms_are_read(tmp_path):
    file = tmp_path / "terms.tsv"
    file.write_text("".join(f"word{n}\t{1000 - n}\n" for n in range(300)) + "nonsense\n")
    assert terms(file).words == [f"word{n}" for n in range(200)]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (b"", None, "no terms in the file"),
        (b"term\tcount\n", None, "no terms in the file"),
        (b"term\trank\nyear\t1\n", 1, "no column of counts; name it term_freq or count"),
        (b"year\t3\nnet\n", 2, "expected a term, a tab and a count"),
        (b"year\tmany\n", 1, "expected a term, a tab and a count"),
        (b"year\t3\nyear\t2\n", 2, "duplicate term 'year'"),
        (b"year\t0\n", 1, "empty term, or count not above 0"),
        (b"year\tnan\n", 1, "empty term, or count not above 0"),
        (b"\t3\n", 1, "empty term, or count not above 0"),
        (b"\xff\t3\n", 1, "not UTF-8"),
    ],
)
def test_a_bad_file_is_refused_with_the_place(tmp_path, text, line, problem):
    file = tmp_path / "terms.tsv"
    file.write_bytes(text)
    with pytest.raises(InputError) as refused:
        terms(file)
    assert refused.value.line == line
    assert problem in refused.value.summary
    assert refused.value.file == str(file)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot read: No such file"):
        terms(tmp_path / "none.tsv")
