"""`cbnet check`: parse a predicate and show its normal form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cbnet.cli.console import print_json, print_note
from cbnet.cli.options import DIALECT, JSON, argument

if TYPE_CHECKING:
    from cbnet.language import Predicate


def check(
    text: str = argument(..., "TEXT", "Predicate, in quotes."),
    dialect: str = DIALECT,
    json: bool = JSON,
) -> None:
    """Parse a predicate, and show its normal form, its reduction and its size.

    A rule in another dialect is translated.

    Example: cbnet check '(x > 10 and y = 100) or (y > 0)'
    """
    from cbnet.language import parse, reduce, size

    predicate = parse(text, dialect=dialect)
    reduced = reduce(predicate)
    if json:
        print_json({"predicate": str(predicate), "reduced": str(reduced), "size": size(predicate)})
        return
    print(f"predicate  {predicate}")
    print(f"reduced    {reduced}")
    print(f"size       {size(predicate)}, reduced {size(reduced)}")
    if dialect == "cbnet":
        for test, name in _equal_attributes(predicate):
            print_note(f'note: `{test}` compares two attributes; write "{name}" if it is a string')


def _equal_attributes(predicate: Predicate) -> Iterator[tuple[str, str]]:
    """Yield each test whether two attributes are equal, with the second name: often a string without its quotes."""
    from cbnet.language.condition import Comparison
    from cbnet.language.constraint import Op
    from cbnet.language.expression import Attribute

    tests = dict.fromkeys(condition.test for filter in predicate.filters for condition in filter.conditions)
    for test in tests:
        if not isinstance(test, Comparison) or test.op not in (Op.EQ, Op.NE):
            continue
        if isinstance(test.left, Attribute) and isinstance(test.right, Attribute):
            yield str(test), test.right.name
