import pytest

from cbnet import Message, parse
from cbnet.errors import InputError, LimitError, MessageFormatError
from cbnet.language import Limits, message_from_json, predicate_from_json, predicate_to_json


def test_a_message_is_an_object_with_a_list_of_tags():
    message = message_from_json('{"dest": "MXP", "price": 600, "ok": true, "f": 1.5, "#": ["a", "b"]}')
    assert message == Message({"dest": "MXP", "price": 600, "ok": True, "f": 1.5}, ["a", "b"])


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("", 1, "expected a JSON object"),
        ("[]", 1, "expected a JSON object"),
        ('{"a":1', 7, "expected `,` or `}`"),
        ('{"a":1,}', 8, "expected a name"),
        ('{"a":1} {}', 9, "text after the object"),
        ('{"a":[1 2]}', 9, "expected `,` or `]`"),
        ('{"a":{"b":1,"b":2}}', 13, 'duplicate name "b"'),
        ('{"a":{"b":[1,NaN]}}', 14, "a.b: NaN is not a value"),
        ('{"a":1,"b":2,"a":3}', 14, 'duplicate name "a"'),
        ('{"#":["a"],"#":["b"]}', 12, 'duplicate name "#"'),
        ('{"a":NaN}', 6, "NaN is not a value"),
        ('{"a":-Infinity}', 6, "infinity is not a value"),
        ('{"a":1e999}', 6, "infinity is not a value"),
        ('{"a":9223372036854775808}', 6, "does not fit in 64 bits"),
        ('{"a":' + "9" * 5_000 + "}", 6, "does not fit in 64 bits"),
        ('{"a":"\\ud800"}', 6, "half of a surrogate pair"),
        ('{"a":"x}', 6, "unclosed quote"),
        ('{"a" 1}', 6, "expected `:`"),
        ("{'a':1}", 2, "in double quotes"),
        ('{"#":"x"}', 6, "must be a list of strings"),
        ('{"#":[1]}', 6, "a tag must be a string"),
        ('{"#":[["a"]]}', 6, "must be a list of strings"),
        ('{"a":' + "[" * 100_000, 69, "nested deeper than 64 levels"),
        ('{"a":01}', 7, "not JSON"),
        ('{"a":}', 6, "a value is missing"),
    ],
)  # fmt: skip
def test_bad_messages_are_refused_at_their_column(text, column, problem):
    with pytest.raises(MessageFormatError) as error:
        message_from_json(text)
    assert error.value.column == column
    assert problem in error.value.problem


def test_a_predicate_has_the_columns_of_the_predicate_files():
    predicate = parse('dest = "MXP" and exists price and #vip or true')
    assert predicate_to_json(predicate) == (
        '[[{"name": "dest", "op": "=", "value": "MXP"}, {"name": "price", "op": "exists"}, '
        '{"name": "vip", "op": "#"}], []]'
    )


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[1]", "[[1]]", "[[{}]]", '[[{"name": "a", "op": "?", "value": 1}]]', '[[{"name": "a", "op": "="}]]',
     '[[{"name": 5, "op": "#"}]]', "[" * 100_000, '[[{"name": "a", "op": "=", "value": ' + "9" * 5_000 + "}]]",
     '[[{"name": "a", "op": ["#"]}]]', '[[{"name": "a", "op": "=", "value": NaN}]]', '[[{"op": "#", "name": "a", "x": 1}]]'],
)  # fmt: skip
def test_bad_predicates_are_refused(text):
    with pytest.raises(MessageFormatError):
        predicate_from_json(text)


def test_a_bad_constraint_is_named_by_its_numbers():
    for constraint in ('{"name": "a", "op": "exists", "value": null}', '{"name": "a", "op": "<", "value": true}'):
        with pytest.raises(MessageFormatError, match=r"^filter 2, constraint 1: "):
            predicate_from_json(f"[[], [{constraint}]]")


def test_texts_are_strings_within_the_limits():
    for wrong in (
        lambda: message_from_json(b"{}"),
        lambda: predicate_from_json(b"[]"),
        lambda: predicate_from_json("[]", 5),
    ):
        with pytest.raises(InputError):
            wrong()
    with pytest.raises(LimitError):
        predicate_from_json("[[], []]", Limits(filters=1))
