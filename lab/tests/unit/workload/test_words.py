import gzip

import pytest

from cbnet.errors import InputError
from cbnet_lab.workload import vocabulary
from cbnet_lab.workload.vocabulary import words

LINES = "apple\nBoston\nfig\nfig's\nétude\npear\nfig\nplum\n"  # the plain words: apple, fig, pear, plum


@pytest.fixture(params=["invented", "dictionary"])
def source(request, monkeypatch, tmp_path):
    path = tmp_path / "words"
    if request.param == "dictionary":
        path.write_text("\n".join(a + b + c for a in "bcdfg" for b in "aeiou" for c in "klmnprst"))
    monkeypatch.setattr(vocabulary, "SYSTEM_DICTIONARIES", (tmp_path / "absent", path))


@pytest.mark.usefixtures("source")
def test_words_are_distinct_and_decided_by_the_seed():
    chosen = words(150, 1)
    assert len(set(chosen)) == 150
    assert chosen == words(150, 1)
    assert chosen != words(150, 2)
    assert words(0, 1) == []


@pytest.mark.usefixtures("source")
def test_words_are_plain():
    assert all(word.isascii() and word.isalpha() and word.islower() for word in words(150, 1))


def test_invented_words_are_as_long_as_english_ones(monkeypatch):
    monkeypatch.setattr(vocabulary, "SYSTEM_DICTIONARIES", ())
    lengths = [len(word) for word in words(2000, 1)]
    assert min(lengths) >= 3
    assert 8 < sum(lengths) / 2000 < 8.8  # 8.28 for the plain words of american-english


@pytest.mark.parametrize("name", ["some.txt", "some.gz"])
def test_a_dictionary_may_be_given(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(LINES.encode()) if name.endswith("gz") else LINES.encode())
    assert sorted(words(4, 0, path)) == ["apple", "fig", "pear", "plum"]
    with pytest.raises(InputError, match="has 4 plain words, not 5"):
        words(5, 0, path)


@pytest.mark.parametrize(
    ("name", "content"),
    [("none", None), ("damaged.gz", b"no gzip"), ("cut.gz", gzip.compress(LINES.encode(), mtime=0)[:-9])],
)
def test_a_dictionary_that_cannot_be_read_is_an_input_error(tmp_path, name, content):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match="cannot read") as error:
        words(1, 0, path)
    assert error.value.file == str(path)
