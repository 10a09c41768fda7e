"""Every engine and every path against the reference, on random tables and messages, for a given time.

    python -m tests.support.differential_fuzz --seconds 600

It prints the number of comparisons of each path; at the first difference it prints the smallest table and
message that it found to differ, and fails. `--seed` repeats a run.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from io import BytesIO
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow as pa
from support.forced_blocks import forced_blocks
from support.invalid_values import CONVERTED, INVALID, REFUSED, expected_answer, insert_value
from support.random_language import NAMES, STRINGS, TAGS, RandomLanguage

from cbnet import Filter, InputError, Message, Predicate, Table
from cbnet.language import message_from_json, reduce
from cbnet.matching import level, memtable, reference
from cbnet.matching import live_table as live
from cbnet.matching.engines.registry import ENGINES
from cbnet.matching.files.message_files import read_encoded
from cbnet.matching.live_table import LiveTable


class Difference(Exception):  # noqa: N818
    """A path returned other rules than the reference."""

    def __init__(self, path, rules, message, expected, actual):
        super().__init__(path)
        self.path, self.rules, self.message, self.expected, self.actual = path, rules, message, expected, actual

    def __str__(self):
        rules = {key: str(predicate) for key, predicate in self.rules.items()}
        return f"{self.path}\nrules {rules!r}\nmessage {self.message!r}\nexpected {self.expected}, got {self.actual}"


class Fuzz:
    """One run; `counts` holds the comparisons of each path."""

    def __init__(self, seed, engines=ENGINES):
        self.seed = seed
        self.engines = engines
        self.counts = Counter()

    def step(self, number):
        source = RandomLanguage(f"{self.seed} {number}")
        size = source.random.choice((1, 2, 5, 20, 60, 300))
        self.step_of(source, source.rules(size), [
            source.message() if source.random.random() < 0.7 else source.flat_message() for _ in range(12)
        ])  # fmt: skip
        with forced_blocks(source.random.choice((1, 3, 20, 70))):
            rules = source.range_rules(size)
            self.step_of(source, rules, [
                source.dense_message() if source.random.random() < 0.8 else source.message() for _ in range(12)
            ])  # fmt: skip

    def step_of(self, source, rules, messages):
        expected = [reference.match(rules, Message.of(message)) for message in messages]
        self.counts["matches"] += sum(map(len, expected))
        for engine in self.engines:
            for reduced in (True, False):
                table = Table.build(
                    rules, engine=engine, reduce=reduced, sample=messages[: source.random.choice((0, 5))]
                )
                self.check_table(f"{engine}, reduce={reduced}", table, rules, messages, expected)
        self.check_reduction(rules, messages, expected)
        self.check_live(source, rules, messages)
        self.check_arrow(source, rules)
        self.check_invalid(source, rules)

    def check_table(self, path, table, rules, messages, expected):
        self.compare(f"{path}, match of a dict", rules, messages, expected, map(table.match, messages))
        whole = [Message.of(message) for message in messages]
        self.compare(f"{path}, match of a Message", rules, messages, expected, map(table.match, whole))
        self.compare(f"{path}, match_many", rules, messages, expected, table.match_many(messages))
        many = table.match_many(messages * 3, threads=3)
        self.compare(f"{path}, threads", rules, messages * 3, expected * 3, many)
        lines = [json.dumps(message).encode() for message in messages]
        self.compare(f"{path}, JSON lines", rules, messages, expected, self.match_lines(table, lines))
        parsed = [message_from_json(json.dumps(message)) for message in messages]
        self.compare(f"{path}, JSON message", rules, messages, expected, map(table.match, parsed))
        with tempfile.TemporaryDirectory() as folder:
            table.save(Path(folder, "table.cbt"))
            opened = Table.open(Path(folder, "table.cbt"))
            self.compare(f"{path}, saved table", rules, messages, expected, map(opened.match, messages))
            read = {key: opened[key] for key in opened}
            self.compare(
                f"{path}, filters read back", rules, messages, expected,
                [reference.match(read, message) for message in whole],
            )  # fmt: skip

    def match_lines(self, table, lines):
        compiled, found = table._compiled, []
        for encoded in read_encoded(BytesIO(b"\n".join(lines)).read, compiled.symbols):
            offsets, targets, _ = compiled.match_batch(encoded.batch)
            labels = [compiled.labels[target] for target in targets.tolist()]
            found += [labels[offsets[row] : offsets[row + 1]] for row in encoded.outcomes]
        return found

    def check_reduction(self, rules, messages, expected):
        for kind in ("full", "pairwise"):
            reduced = {key: reduce(predicate, kind) for key, predicate in rules.items()}
            found = [reference.match(reduced, Message.of(message)) for message in messages]
            self.compare(f"reduce by {kind} rules", rules, messages, expected, found)

    def check_live(self, source, rules, messages):
        model = {key: dict.fromkeys(predicate.filters) for key, predicate in rules.items()}
        table = LiveTable(Table.build(rules))
        for _ in range(12):
            key = source.random.choice(sorted(model, key=str) or ["a"])
            present = model.setdefault(key, {})
            if source.random.random() < 0.5 or not present:
                filter = source.some_filter()
                table.add(key, filter)
                present[filter] = None
            else:
                filter = source.random.choice(list(present))
                table.remove(key, filter)
                del present[filter]
            message = source.random.choice(messages)
            current = {key: Predicate(filters) for key, filters in model.items()}
            expected = sorted(reference.match(current, Message.of(message)), key=str)
            self.compare("live table", current, [message], [expected], [sorted(table.match(message), key=str)])
        table.wait()
        current = {key: Predicate(filters) for key, filters in model.items()}
        for name, match in (("live table, merged", table.match), ("live table, snapshot", table.snapshot().match)):
            expected = [sorted(reference.match(current, Message.of(message)), key=str) for message in messages]
            found = [sorted(match(message), key=str) for message in messages]
            self.compare(name, current, messages, expected, found)

    def check_arrow(self, source, rules):
        rows = [_arrow_row(source) for _ in range(8)]
        batch = pa.Table.from_pylist(rows, _SCHEMA)
        expected = [reference.match(rules, Message.of(_without_null(row))) for row in rows]
        table = Table.build(rules)
        found = table.match_frame(batch).to_pylist()
        self.compare("Arrow", rules, rows, expected, found)
        sliced = table.match_frame(batch.slice(3, 4)).to_pylist()
        self.compare("Arrow, a slice", rules, rows[3:7], expected[3:7], sliced)

    def check_invalid(self, source, rules):
        """A value that is not valid refuses a message if a filter uses its attribute, and else is ignored."""
        changed = LiveTable(Table.build(rules))
        added = LiveTable()
        for key, predicate in rules.items():
            for filter in predicate.filters:
                added.add(key, filter)
        tables = {engine: Table.build(rules, engine=engine) for engine in self.engines}
        for _ in range(8):
            members, value = source.message(), source.random.choice(INVALID + CONVERTED)
            expected = expected_answer(rules, members, value, insert_value(source.random, members, value))
            for engine, table in tables.items():
                many = _answer(lambda table=table, members=members: table.match_many([members])[0])
                self.compare(f"{engine}, invalid values", rules, [members], [expected], [_answer(table.match, members)])
                self.compare(f"{engine}, invalid values of many", rules, [members], [expected], [many])
            for live_table in (changed, added):
                found = sorted(_answer(live_table.match, members), key=str)
                self.compare("live table, invalid values", rules, [members], [sorted(expected, key=str)], [found])

    def compare(self, path, rules, messages, expected, found):
        for message, wanted, actual in zip(messages, expected, found, strict=True):
            self.counts[path] += 1
            if wanted != actual:
                raise Difference(path, rules, message, wanted, actual)


_INNER = pa.struct([("x", pa.int64()), ("s", pa.string()), ("xs", pa.list_(pa.float64()))])
_ELEMENT = pa.struct([("x", pa.int64()), ("s", pa.string()), ("p", pa.list_(_INNER))])
_SCHEMA = pa.schema(
    [
        ("x", pa.int64()), ("y", pa.float64()), ("s", pa.string()), ("xs", pa.list_(pa.int64())), ("o", _INNER),
        ("os", pa.list_(_ELEMENT)), ("o.x", pa.float64()), ("#", pa.list_(pa.string())),
    ]
)  # fmt: skip


def _arrow_row(source):
    """Return a row of the schema; None is a null cell."""

    def some(*values):
        return source.random.choice((None, *values))

    def number():
        return some(-1, 0, 1, 2, 3, 2**53 + 1)

    def inner():
        return some(*[{"x": number(), "s": some(*STRINGS), "xs": some([], [0.5, 1.0], [2.0, None])}] * 4)

    def element():
        return {"x": number(), "s": some(*STRINGS), "p": some([], [inner(), inner()], [inner()])}

    return {
        "x": number(), "y": some(0.5, 1.0, 3.0, 1e300), "s": some(*STRINGS), "xs": some([], [1, 2], [3, None], [7]),
        "o": inner(), "os": some([], [element()], [element(), element()], [element(), None, element()]),
        "o.x": some(None, 1.0), "#": some([], ["p"], list(TAGS)),
    }  # fmt: skip


def _answer(match, *arguments):
    try:
        return match(*arguments)
    except InputError:
        return REFUSED


def _without_null(value):
    """Return a row without its null cells, which are absent in a message."""
    if isinstance(value, dict):
        return {key: _without_null(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [_without_null(item) for item in value if item is not None]
    return value


# --- the smallest case


def smallest(difference, differs):
    """Return a smaller table and message that still differ, by leaving out one part after the other."""
    rules, message = dict(difference.rules), difference.message
    changed = True
    while changed:
        changed = False
        for smaller_rules, smaller in _smaller(rules, message):
            if differs(smaller_rules, smaller):
                rules, message, changed = smaller_rules, smaller, True
                break
    return rules, message


def _smaller(rules, message):
    for key, predicate in rules.items():
        if len(rules) > 1:
            yield {other: kept for other, kept in rules.items() if other != key}, message
        for filter in predicate.filters:
            if len(predicate.filters) > 1:
                yield rules | {key: Predicate(each for each in predicate.filters if each != filter)}, message
            for part in _fewer_parts(filter):
                yield rules | {key: Predicate(part if each == filter else each for each in predicate.filters)}, message
    for smaller in _smaller_values(message):
        yield rules, smaller


def _fewer_parts(filter):
    for constraint in filter.written_constraints:
        yield Filter(
            [each for each in filter.written_constraints if each != constraint], filter.tags, filter.conditions
        )
    for condition in filter.conditions:
        others = [each for each in filter.conditions if each != condition]
        yield Filter(filter.written_constraints, filter.tags, others)
    for tag in filter.tags:
        yield Filter(filter.written_constraints, filter.tags - {tag}, filter.conditions)


def _smaller_values(value):
    if isinstance(value, dict):
        for key in value:
            yield {other: member for other, member in value.items() if other != key}
            yield from ({**value, key: smaller} for smaller in _smaller_values(value[key]))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield value[:index] + value[index + 1 :]
            yield from ([*value[:index], smaller, *value[index + 1 :]] for smaller in _smaller_values(item))


def _differs_again(difference):
    """Return a test whether a table and a message differ on the path of a difference, if it is simple to repeat."""
    engine, _, rest = difference.path.partition(",")
    if engine not in ENGINES:
        return None

    def differs(rules, message):
        table = Table.build(rules, engine=engine, reduce="reduce=True" in rest)
        try:
            return table.match(message) != reference.match(rules, Message.of(message))
        except Exception:
            return False

    return differs if differs(difference.rules, difference.message) else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="number of the first step")
    parser.add_argument("--engines", nargs="+", default=ENGINES)
    options = parser.parse_args()
    memtable.MAX_FILTERS, live.GROWTH, live.MIN_MERGE, live.MAX_CATCH_UP, level.MIN_REMOVALS = 3, 1, 8, 1, 4
    fuzz, number, end = Fuzz(options.seed, options.engines), options.first, time.monotonic() + options.seconds
    while time.monotonic() < end:
        try:
            fuzz.step(number)
        except Difference as difference:
            print(f"seed {options.seed}, step {number}: {difference}")
            differs = _differs_again(difference)
            if differs is not None:
                rules, message = smallest(difference, differs)
                print(f"smallest: { ({key: str(each) for key, each in rules.items()})!r} with {message!r}")
            return 1
        except Exception:
            print(f"seed {options.seed}, step {number}")
            raise
        number += 1
    print(f"{number - options.first:,} tables over {len(NAMES)} names, no difference")
    for path, count in fuzz.counts.items():
        print(f"{count:>12,}  {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
