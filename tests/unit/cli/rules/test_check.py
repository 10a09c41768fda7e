import pytest


def test_translation_of_a_dialect_is_printed(cbnet):
    outcome = cbnet("check", "--dialect", "eventbridge", '{"a": {"b": ["x"]}}')
    assert outcome.out.splitlines()[0] == 'predicate  a.b = "x"'


@pytest.mark.parametrize("text", ["dest = MXP", "price < 500 and not (dest = MXP)"])
def test_comparison_with_a_word_without_quotes_is_noted(cbnet, text):
    assert 'write "MXP" if it is a string' in cbnet("check", text).err


@pytest.mark.parametrize("text", ['dest = "MXP"', "dest < MXP", "dest = MXP + 1"])
def test_other_comparisons_are_not_noted(cbnet, text):
    assert cbnet("check", text).err == ""
