"""The forms of a predicate: text, JSON and bytes, each of which must give the same predicate back."""

from cbnet.language import parse, predicate_from_json, predicate_to_json
from cbnet.language.syntax.byte_form import canonical_filter, filter_from_bytes, filter_to_bytes


def check_forms(predicate):
    """Assert that every form of a predicate gives the predicate back."""
    text = str(predicate)
    assert parse(text) == predicate
    assert str(parse(text)) == text
    assert predicate_from_json(predicate_to_json(predicate)) == predicate
    for filter in predicate.filters:
        assert filter_from_bytes(filter_to_bytes(filter)) == canonical_filter(filter)
