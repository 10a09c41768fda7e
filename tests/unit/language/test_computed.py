import pytest

from cbnet import InputError, Message, parse
from cbnet.errors import UndecidedError
from cbnet.language import predicate_from_json, predicate_to_json
from cbnet.language.computed import computed


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("all items (price>3)", "all items (price > 3)"),
        ("not all items (a = 1 or b = 2)", "not all items (a = 1 or b = 2)"),
        ("count(items (a = 1)) = 0", "none items (a = 1)"),
        ("not none items (a = 1)", "count(items (a = 1)) != 0"),
        ("(all `a b`  (@ > 1)) is not true", "(all `a b` (@ > 1) = true) is not true"),
        ("count(orders[0].items) * 2 > n", "count(orders[0].items) * 2 > n"),
        ("exists tags[3] or absent tags[-1].x", "exists tags[3] or absent tags[-1].x"),
        ("all a (all b (count(c (x = 1)) > 1))", "all a (all b (count(c (x = 1)) > 1))"),
        ("`count(items)` = 2", "count(items) = 2"),
        ("`count( items)` = 2", "`count( items)` = 2"),
        ('all in (1, 2) and count = 1 and none like "a%_"', 'all in (1, 2) and count = 1 and none like "a%_"'),
    ],
)  # fmt: skip
def test_quantifiers_are_printed_and_read_again(text, printed):
    predicate = parse(text)
    assert parse(printed) == predicate == predicate_from_json(predicate_to_json(predicate))
    assert sorted(map(str, predicate.filters)) == sorted(map(str, parse(printed).filters))
    assert set(printed.split(" or ")) == set(str(predicate).split(" or "))


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("count(items", "count(items)"), ("all items", "all items (…)"), ("any items (a = 1)", "count(items (…)) >= 1"),
        ("all items (#t)", "outside the parentheses"), ("all items (a >)", "number"), ("none items (", ""),
        ("count(count(a)) = 1", "count(items)"), ("items[*].price > 3", "all items (…)"), ("all items ()", "true"),
    ],
)  # fmt: skip
def test_errors_have_a_remedy(text, remedy):
    with pytest.raises(InputError) as error:
        parse(text)
    assert remedy in str(error.value)


def test_quantifiers_nest_to_a_limit():
    text = "x = 1"
    for _ in range(8):
        text = f"all a ({text})"
    assert str(parse(text)) == text
    with pytest.raises(InputError, match="quantifiers inside each other"):
        parse(f"all a ({text})")


def test_messages_with_other_items_differ():
    assert Message({"p": [1, {}]}) != Message({"p": [1]})
    assert Message({"p": [{"x": 1}, 2]}) != Message({"p": [2, {"x": 1}]})
    assert Message({"p": 1}) == Message({"p": [1]})


def test_used_paths_are_those_of_the_items():
    assert computed("count(a.items[1].parts (n = 1 and @ > 2 and count(q (z = 1)) > 1))").used_paths == {
        "a.items", "a.items.parts", "a.items.parts.n", "a.items.parts.@", "a.items.parts.q", "a.items.parts.q.z",
    }  # fmt: skip
    assert computed("count(items (a =))") is computed("a b") is None


def test_too_many_items_are_undecided():
    with pytest.raises(UndecidedError):
        parse("all p (@ >= 0 or @ < 0)").matches({"p": [1] * 50_001})
