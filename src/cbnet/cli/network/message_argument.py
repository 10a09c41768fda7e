"""Spoken message: which message do the words of a command say? `price=3`, `dest=MXP`, `#upgradeable`."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cbnet.errors import InputError
from cbnet.language import Message
from cbnet.language.values import Value


def spoken_message(words: Sequence[str]) -> Message:
    """Return the message that words such as price=3 and #tag say, or one word that is its JSON."""
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return _from_json(words[0])
    attributes: dict[str, Value] = {}
    tags: list[str] = []
    for word in words:
        name, equals, text = word.partition("=")
        if word.startswith("#") and len(word) > 1:
            tags.append(_tag(word[1:]))
        elif not equals or not name:
            raise InputError(f"{word!r} says neither an attribute nor a tag", hint="write name=value or '#tag'")
        elif name in attributes:
            raise InputError(f"{name!r} is said twice", hint="say it once")
        else:
            attributes[name] = _value(text)
    return Message(attributes, tags)


def _tag(text: str) -> str:
    """Return a tag, which may stand in quotes as in predicates."""
    value = _value(text)
    return value if isinstance(value, str) else text


def _value(text: str) -> Value:
    """Return a number, true, false or a string in quotes as JSON has them; anything else is a string as it stands."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        return text
    return value if isinstance(value, bool | int | float | str) else text


def _from_json(text: str) -> Message:
    from cbnet.matching.files.message_files import message_from_line

    found = message_from_line(text.encode("utf-8", "surrogateescape"))
    if isinstance(found, InputError):
        raise found
    assert found is not None  # it begins with a brace
    return found
