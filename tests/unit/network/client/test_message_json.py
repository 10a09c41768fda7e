"""JSON of messages is counted before it is read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbnet import Message
from cbnet._kernels.json_values import json_values
from cbnet.errors import InputError, LimitError
from cbnet.network.client import message_json
from cbnet.network.client.message_json import message_and_payload, message_from_json, object_from_json

texts = st.text(st.sampled_from('a",[]{}:\\\\ \\n\u00e9\u6771'), max_size=6)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
)


def count(value):
    """Return the number of values inside a value."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return len(items) + sum(map(count, items))


@given(documents, st.sampled_from([None, 1]), st.booleans())
def test_values_of_a_text_are_those_of_the_parsed_document(document, indent, is_ascii):
    text = json.dumps(document, indent=indent, ensure_ascii=is_ascii).encode()
    assert json_values(text, 1 << 30) == count(document)


@given(documents, st.integers(0, 5))
def test_a_count_ends_at_the_limit(document, most):
    assert json_values(json.dumps(document).encode(), most) == min(count(document), most + 1)


@given(st.binary(max_size=40) | st.text('[]{},:"\\\\ 1', max_size=40).map(str.encode))
def test_any_bytes_have_a_count(data):
    assert 0 <= json_values(data, 1 << 30) <= len(data)


@pytest.mark.parametrize(
    "document", [{f"k{n}": 1 for n in range(5_185)}, {"a": [[]] * 300_000}, {"m": [{"x": 1}] * 3_000}]
)
def test_text_of_too_many_values_is_refused_before_it_is_read(monkeypatch, document):
    monkeypatch.setattr(message_json, "json_members", None)
    monkeypatch.setattr(message_json, "message_from_line", None)
    text = json.dumps(document).encode()
    for read in (object_from_json, message_from_json, message_and_payload):
        with pytest.raises(
            LimitError, match="values in a JSON text: 5,185 is over the limit of 5,184; a message has at most 4,096"
        ):
            read(text)


def test_message_of_all_values_and_tags_is_read():
    members = {f"k{n}": n for n in range(4_096)} | {"#": [f"t{n}" for n in range(1_024)]}
    text = json.dumps({"message": members, "payload": "p", "source": "a", "keep": 1}).encode()
    assert message_and_payload(text) == (Message.from_dict(members), b"p")


def test_mistake_in_a_long_text_is_named_without_reading_every_member_again(monkeypatch):
    monkeypatch.setattr(message_json, "message_from_line", None)
    members = {f"k{n}": n for n in range(4_000)}
    for text, problem in (
        (json.dumps(members)[:-1] + "]", "not a JSON object: .*byte"),
        (json.dumps(members)[:-1] + ', "k7": 1}', "a name is repeated"),
        (json.dumps({**members, "x": {"y": 2**63}}), "x.y: the integer does not fit in 64 bits"),
    ):
        with pytest.raises(InputError, match=problem):
            message_from_json(text.encode())


def test_names_of_long_paths_are_read_in_proportion_to_their_text():
    members = {"x" * 200: {f"k{n}": n for n in range(20)}}
    assert message_from_json(json.dumps(members).encode()) == Message(members)
    with pytest.raises(InputError, match=r"(?<!x)x{200}\.bad: the integer"):
        message_from_json(json.dumps({"x" * 300: {"bad": 2**63}}).encode())
