"""A table so large that a batch is matched several messages at a time."""

from dataclasses import replace

from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.storage.columns import columns_of_tags
from cbnet.matching.table import Table

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
