"""A long predicate is read once, with the result or the error of one that is read as often as it is needed."""

import pytest

from cbnet import InputError, parse
from cbnet.language.relations import normal_form
from cbnet.language.syntax.byte_form import predicate_to_bytes
from cbnet.network.protocol import predicate_texts
from cbnet.network.protocol.predicate_texts import LONG, filters_of, predicate_of, read_ahead

SHORT = "x < 5 or y like 'a%'".replace("'", '"')
TEXTS = [SHORT, SHORT.ljust(LONG), " or ".join(f'x = {n} and lower(y) = "{n}"' for n in range(200))]


@pytest.mark.parametrize("text", TEXTS)
def test_results_are_those_of_the_parser(text):
    for _ in range(2):
        assert filters_of(text) == predicate_to_bytes(text)
        assert predicate_of(text) == parse(text)


@pytest.mark.parametrize("text", ["x <", "x <".ljust(LONG), "x = 1 or ".ljust(LONG), "x = 1 and " * LONG])
def test_errors_are_those_of_the_parser(text):
    with pytest.raises(InputError) as expected:
        predicate_to_bytes(text, predicate_texts.PREDICATE_LIMITS)
    for read in (filters_of, predicate_of) * 2:
        with pytest.raises(InputError) as raised:
            read(text)
        assert raised.value.summary == expected.value.summary
        assert type(raised.value) is type(expected.value)
        raised.value.at(line=7)  # of this caller alone


def test_what_was_read_ahead_is_not_read_again(monkeypatch):
    text, wrong = TEXTS[-1] + " or z = 1", "w = 1 or ".ljust(LONG)
    times = [read_ahead(each, is_compared=True) for each in (text, wrong)]
    assert min(times) > 0
    filters, predicate = predicate_to_bytes(text), parse(text)
    for name in ("predicate_to_bytes", "parse"):
        monkeypatch.setattr(predicate_texts, name, None)
    assert all(
        read_ahead(each, is_compared=True) >= took for each, took in zip((text, wrong), times, strict=True)
    )  # not less
    assert filters_of(text) == filters
    filters_of(text).clear()  # a list of the caller's own
    assert (filters_of(text), predicate_of(text)) == (filters, predicate)
    with pytest.raises(InputError):
        filters_of(wrong)


def test_what_nobody_compares_is_not_parsed(monkeypatch):
    text = " or ".join(f"x = {n}" for n in range(LONG // 5))
    filters = predicate_to_bytes(text)
    monkeypatch.setattr(predicate_texts, "parse", None)
    monkeypatch.setattr(normal_form, "filter_from_bytes", None)
    read_ahead(text, is_compared=False)
    assert filters_of(text) == filters
