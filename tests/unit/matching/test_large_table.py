"""A table so large that a batch is matched several messages at a time."""

from dataclasses import replace

import numpy as np

from cbnet import Message, Table, parse
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.reference import match
from cbnet.matching.storage.columns import columns_of_tags

INTERFACES = 7


def test_a_batch_is_matched_as_single_messages_are():
    filters = ((n % INTERFACES, [f"t{n}"]) for n in range(60_000))
    columns = replace(columns_of_tags((), filters), interfaces=list(range(INTERFACES)))
    table = Table(CompiledTable.build(columns, reduce=False))
    assert table._compiled.arrays["slots"].nbytes > 800_000
    messages = [{"#": [f"t{n}", f"t{3 * n}"]} for n in range(27)]  # not a multiple of the messages at a time
    expected = [sorted({n % INTERFACES, 3 * n % INTERFACES}) for n in range(27)]
    assert table.match_many(messages) == expected
    assert [table.match(message) for message in messages] == expected


SECOND = (
    'airline = "{n}"', "price = {n}", "price < {n}", "price != {n}", "direct = true", "exists seats", "#sale",
    'airline ^= "{n}"', 'airline in ("{n}", "7")', "seats = null", "length(airline) = {n}", "legs.stop = {n}",
)  # fmt: skip


def test_a_large_bucket_is_screened_by_a_second_constraint():
    """Filling makes the table so large that messages are matched together, and the pivot of most others `dest`."""
    seconds = [second.format(n=n) for n in range(5) for second in SECOND]
    texts = [f'dest = "AAA" and {second} and weight > {weight}' for second in seconds for weight in range(4)]
    filling = [f"filling = {n} and {seconds[n % len(seconds)]} and weight > {n % 4}" for n in range(18_000)]
    table = Table.build(dict(enumerate([*texts, *(" or ".join(filling[k::6]) for k in range(6))])))
    assert np.diff(table._compiled.arrays["slots"]["entries"].astype(int)).max() > 128  # so many are screened
    messages = [
        {"dest": "AAA", "airline": str(n), "price": n + 1.0, "direct": n % 3 == 0, "weight": 2, "legs": legs, **more}
        for n in range(11)
        for legs in ([], [{"stop": n}, {"stop": 4}])
        for more in ({}, {"seats": None if n % 2 else 4, "#": ["sale"]}, {"dest": "BBB"})
    ]
    predicates = {n: parse(text) for n, text in enumerate(texts)}
    expected = [match(predicates, Message.of(message)) for message in messages]
    assert table.match_many(messages) == expected
    assert [table.match(message) for message in messages] == expected


def test_few_entries_of_a_large_bucket_are_read():
    """Of the 80 filters of a destination 4 are of an airline; others have a mark of the message by chance only."""
    texts = [
        f'dest = "d{dest}" and airline = "a{airline}" and price < {price}'
        for dest in range(50)
        for airline in range(20)
        for price in range(1, 5)
    ]
    compiled = Table.build(dict(enumerate(texts)))._compiled
    _, targets, read = compiled.match_batch(compiled.encode([{"dest": "d7", "airline": "a3", "price": 2}]))
    assert targets.tolist() == [7 * 80 + 3 * 4 + 2, 7 * 80 + 3 * 4 + 3]
    assert read < 20
