import pytest

from cbnet import CbnetError, InputError, Limits, errors, parse
from cbnet.errors import FileError, LimitError, PredicateSyntaxError


def test_input_errors_are_value_errors_of_one_root():
    for error in (PredicateSyntaxError, LimitError, FileError):
        assert issubclass(error, InputError)
    assert issubclass(InputError, ValueError)
    assert issubclass(InputError, CbnetError)


def test_module_docstring_draws_every_error_class():
    from cbnet.network.errors import NetworkError
    from cbnet.network.http.problems import Problem
    from cbnet.network.protocol.wire import WireError
    from cbnet.network.security.rights import Denied

    def drawn(root, depth=0):
        assert issubclass(root, CbnetError)
        yield depth, root.__name__
        for child in root.__subclasses__():
            yield from drawn(child, depth + 1)

    assert {NetworkError, Problem, WireError, Denied} <= {*_subclasses(CbnetError)}  # all are imported
    lines = [line for line in errors.__doc__.splitlines() if "──" in line]
    names = {line.partition("── ")[2].split()[0]: line.index("──") // 4 for line in lines}
    assert names == {name: depth for depth, name in drawn(CbnetError) if depth}


def _subclasses(root):
    for child in root.__subclasses__():
        yield child
        yield from _subclasses(child)


def _error(text):
    with pytest.raises(PredicateSyntaxError) as error:
        parse(text)
    return error.value


def test_caret_stands_under_the_mistake():
    assert str(_error("price == 5")) == "1:7: unknown operator `==`; write `=`\nprice == 5\n      ^^"


def test_caret_counts_wide_characters_as_two_columns():
    # x = "日本" and  is 14 characters, two of which take two columns
    assert _error('x = "日本" and y == 3').excerpt() == 'x = "日本" and y == 3\n' + " " * 17 + "^^"


def test_excerpt_holds_only_the_line_with_the_mistake():
    error = _error("x = 1 or\n  y =< 3\n or z = 4")
    assert (error.line, error.column) == (2, 5)
    assert error.excerpt() == "  y =< 3\n    ^^"


def test_long_line_is_cut_around_the_mistake():
    error = _error("a = 1 and " * 50 + "b == 2" + " and c = 3" * 50)
    text, caret = error.excerpt().split("\n")
    assert len(text) < 80
    assert text.startswith("…")
    assert text.endswith("…")
    assert text[caret.index("^") :].startswith("==")


def test_carets_end_where_the_cut_line_ends():
    error = _error("x = " + "9" * 200)
    text, carets = error.excerpt(width=40).split("\n")
    assert text == "x = " + "9" * 36 + "…"
    assert carets == "    " + "^" * 36


def test_summary_quotes_input_in_one_line():
    assert _error("x `a\\nb`").summary.isprintable()
    assert len(_error("x " + "=" * 10_000 + " 5").summary) < 500


def test_limit_error_has_a_location_only_in_a_text():
    assert str(LimitError("things", 5, 3, hint="split them")) == "things: 5 is over the limit of 3; split them"
    with pytest.raises(LimitError, match=r"^1:1: characters in a predicate: 5 is over the limit of 4;"):
        parse("x = 1", Limits(length=4))
    with pytest.raises(LimitError, match=r"^filters in the normal form: 10,404 is over"):
        parse(" or ".join(f"x = {n}" for n in range(102))) & parse(" or ".join(f"y = {n}" for n in range(102)))


def test_errors_can_be_pickled():
    import pickle

    for error in (_error("x == 1"), LimitError("things", 5, 3), FileError("f", [InputError("p", line=3)])):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error)
        assert str(copy) == str(error)
