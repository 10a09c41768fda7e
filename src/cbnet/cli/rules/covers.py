"""`cbnet covers`: test whether one predicate covers another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbnet.cli.console import print_json
from cbnet.cli.options import DIALECT, JSON, argument
from cbnet.errors import CbnetError, InputError

if TYPE_CHECKING:
    from cbnet.language import Predicate


def covers(
    wide: str = argument(..., "A", "Wide predicate, in quotes."),
    narrow: str = argument(..., "B", "Narrow predicate, in quotes."),
    dialect: str = DIALECT,
    json: bool = JSON,
) -> None:
    """Test whether every message that matches B also matches A; if not, show a counter-example.

    Example: cbnet covers 'severity > 2' 'severity > 3'
    """
    from cbnet.language import covers as relation
    from cbnet.language import search_counterexample
    from cbnet.language.syntax.json_form import message_to_json
    from cbnet.matching.reference import match

    a, b = _parsed("A", wide, dialect), _parsed("B", narrow, dialect)
    answer = relation(a, b)
    search = search_counterexample(a, b)
    message = None if answer else search.message
    if message is not None and match({"A": a, "B": b}, message) != ["B"]:
        raise CbnetError(f"wrong counter-example {message!r}: please report this")
    if json:
        print_json({"covers": answer, "counterexample": None if message is None else message.to_dict()})
        return
    print("yes" if answer else "no")
    if message is not None:
        print(f"counter-example: {message_to_json(message)} matches B and not A")
    elif not answer and search.is_exhausted:
        print("no single filter of A covers B, but several cover it together: there is no counter-example")
    elif not answer:
        print("no single filter of A covers B; no counter-example was found before the search limit")


def _parsed(which: str, text: str, dialect: str) -> Predicate:
    from cbnet.language import parse

    try:
        return parse(text, dialect=dialect)
    except InputError as error:
        raise error.at(file=which) from None
