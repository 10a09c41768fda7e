"""Functions in the text of predicates; `test_condition_code` tests their values, in Python and in the kernel."""

import pytest

from cbnet import parse
from cbnet.errors import PredicateSyntaxError
from cbnet.language.expression import FUNCTIONS


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_is_a_name_without_parenthesis(function):
    text = f"{function} = 5 and {function}({function}) = 5"
    assert str(parse(text)) == text


def test_functions_of_constants_are_computed():
    assert str(parse('x = int("-07") and y = length("é") and z = string(5) and b = bool("TRUE")')) == (
        'x = -7 and y = 1 and z = "5" and b = true'
    )


def test_a_function_of_a_constant_without_a_result_is_an_error():
    with pytest.raises(PredicateSyntaxError, match=r'`int\("a"\)` has no value'):
        parse('x = int("a")')


def test_an_unknown_function_is_an_error_with_the_known_ones():
    with pytest.raises(PredicateSyntaxError, match="unknown function `trim`") as raised:
        parse('trim(x) = "a"')
    assert (
        raised.value.hint
        == "the functions are lower, upper, length, abs, int, string, bool, time, and count for arrays"
    )
