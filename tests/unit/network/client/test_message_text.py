"""Messages that are said in words."""

import pytest

from cbnet.errors import InputError
from cbnet.language import Message
from cbnet.network.client.message_text import parse_message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["price=3", "dest=MXP", "#sale"], Message({"price": 3, "dest": "MXP"}, ["sale"])),
        (['zip="04001"', "is_open=true", "ratio=0.5", "note=a=b"],
         Message({"zip": "04001", "is_open": True, "ratio": 0.5, "note": "a=b"})),
        (["#tag 7", '#"tag 8"', "#12", "#true"], Message(tags=["tag 7", "tag 8", "12", "true"])),
        (['{"x": 1, "#": ["a b"]}'], Message({"x": 1}, ["a b"])),
    ],
)  # fmt: skip
def test_words_say_a_message(words, message):
    assert parse_message(words) == message


@pytest.mark.parametrize("words", [["price"], ["=3"], ["#"], ["x=1", "x=2"], ['{"x": [1]}']])
def test_other_words_are_refused(words):
    with pytest.raises(InputError):
        parse_message(words)
