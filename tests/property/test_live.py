"""A live table against one that is built anew from the filters that were added and not removed."""

import random
import threading
from contextlib import nullcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.forced_blocks import forced_blocks
from support.live_tables import merging_often
from support.rich_language import rich_filters, rich_messages_near, rich_predicates
from support.strategies import filters, messages_near, predicates

from cbnet import Filter, Message, Predicate, Table, parse, parse_filter
from cbnet.errors import CbnetError, InputError
from cbnet.matching import live_table as live
from cbnet.matching import memtable, reference
from cbnet.matching.live_table import LiveTable


@pytest.fixture(autouse=True, scope="module", params=["pivots", "blocks"])
def _merge_often(request):
    with merging_often(3) as patch, forced_blocks() if request.param == "blocks" else nullcontext():
        patch.setattr(live, "MAX_CATCH_UP", 1)
        yield


def changes(filters, predicates):
    kinds = st.sampled_from(["add", "remove", "remove known", "replace"])
    return st.lists(st.tuples(kinds, st.sampled_from("abc"), filters, predicates), max_size=25)


def apply(table, model, change, choose):
    kind, rule, filter, predicate = change
    present = model.setdefault(rule, set())
    if kind == "remove known" and present:
        filter = choose(sorted(present))
    if kind == "add":
        assert table.add(rule, filter) == (filter not in present)
        present.add(filter)
    elif kind == "replace":
        table.replace(rule, predicate)
        model[rule] = set(predicate.filters)
    else:
        assert table.remove(rule, filter) == (filter in present)
        present.discard(filter)


@settings(max_examples=75)
@given(
    st.dictionaries(st.sampled_from("abc"), predicates(), max_size=3),
    changes(filters(max_size=2), predicates()),
    st.data(),
)
def test_any_sequence_of_changes_equals_a_rebuilt_table(start, steps, data):
    table = LiveTable(Table.build(start))
    model = {rule: set(predicate.filters) for rule, predicate in start.items()}
    for step in steps:
        apply(table, model, step, lambda present: data.draw(st.sampled_from(present)))
        expected = {key: Predicate(model[key]) for key in model}
        message = data.draw(messages_near(*(filter for present in model.values() for filter in present)))
        assert sorted(table.match(message)) == sorted(reference.match(expected, message))
    table.wait()
    for rule, present in model.items():
        assert table.filters(rule) == present
    message = data.draw(messages_near(*(filter for present in model.values() for filter in present)))
    expected = {key: Predicate(model[key]) for key in model}
    assert sorted(table.match(message)) == sorted(reference.match(expected, message))
    assert sorted(table.snapshot().match(message)) == sorted(reference.match(expected, message))


@settings(max_examples=30)
@given(
    st.dictionaries(st.sampled_from("abc"), rich_predicates, max_size=3),
    changes(rich_filters, rich_predicates),
    st.data(),
)
def test_changes_are_seen_by_nested_messages(start, steps, data):
    table = LiveTable(Table.build(start))
    model = {rule: set(predicate.filters) for rule, predicate in start.items()}
    message = Message()
    for step in steps:
        apply(table, model, step, lambda present: data.draw(st.sampled_from(present)))
        expected = {key: Predicate(model[key]) for key in model}
        message = data.draw(rich_messages_near(*(filter for present in model.values() for filter in present)))
        assert sorted(table.match(message)) == sorted(reference.match(expected, message))
    table.wait()
    for rule, present in model.items():
        assert table.filters(rule) == present
    expected = {key: Predicate(model[key]) for key in model}
    for match in (table.match, table.snapshot().match):
        assert sorted(match(message.to_dict())) == sorted(reference.match(expected, message))


def test_a_covered_filter_is_revived_when_its_coverer_is_removed():
    table = LiveTable(Table.build({"a": "x < 9 or x < 5 or x < 3", "b": "x < 9"}))
    assert table.match({"x": 4}) == ["a", "b"]
    assert table.remove("a", parse_filter("x < 9"))
    assert table.match({"x": 4}) == ["a", "b"]
    assert table.match({"x": 7}) == ["b"]
    assert table.remove("a", parse_filter("x < 5"))
    assert table.match({"x": 4}) == ["b"]
    assert table.match({"x": 2}) == ["a", "b"]


def test_adding_the_same_filter_twice_is_one_filter():
    table = LiveTable(Table.build({"a": "x = 1 or x < 5 or x < 3"}))
    for text in ("x = 1", "x < 5", "x < 3"):  # in the base, and aside
        assert not table.add("a", parse_filter(text))
    assert table.add("a", parse_filter("y = 1"))
    assert not table.add("a", parse_filter("y = 1"))
    assert table.remove("a", parse_filter("y = 1"))
    assert not table.remove("a", parse_filter("y = 1"))
    assert table.match({"y": 1}) == []


@pytest.mark.parametrize("base", [None, "x = false", "x != true", "x = false or x != true"])
def test_two_spellings_of_one_test_are_two_filters(base):
    table = LiveTable(Table.build({"a": base or "false"}))
    spellings = [parse_filter("x = false"), parse_filter("x != true"), parse_filter("x = false and x != true")]
    present = set(parse(base or "false").filters)
    assert table.filters("a") == present
    for filter in spellings:
        assert table.add("a", filter) == (filter not in present)
        assert not table.add("a", filter)
    for removed, filter in enumerate(spellings, 1):
        assert table.remove("a", filter)
        assert not table.remove("a", filter)
        assert table.filters("a") == set(spellings[removed:])
        assert table.match({"x": False}) == (["a"] if removed < 3 else [])


def test_a_replacement_keeps_the_spelling_of_its_filters():
    table = LiveTable()
    table.add("a", parse_filter("x = false"))
    table.replace("a", "x != true")
    assert not table.remove("a", parse_filter("x = false"))
    assert table.match({"x": False}) == ["a"]
    assert table.filters("a") == {parse_filter("x != true")}
    table.replace("a", "x = false or x != true")
    assert table.remove("a", parse_filter("x != true"))
    assert table.match({"x": False}) == ["a"]


def test_a_filter_shared_by_rules_is_removed_from_one():
    table = LiveTable(Table.build(dict.fromkeys("abc", "x = 1 and y = 2")))
    assert table.remove("b", parse_filter("y = 2 and x = 1"))
    assert table.match({"x": 1, "y": 2}) == ["a", "c"]


def test_a_covered_filter_is_revived_for_all_rules_that_shared_its_coverer():
    table = LiveTable(Table.build(dict.fromkeys("ab", "x < 9 and y = 1 or x < 5 and y = 1")))
    for rule in "ab":
        assert table.remove(rule, parse_filter("x < 9 and y = 1"))
    assert table.match({"x": 7, "y": 1}) == []
    assert table.match({"x": 4, "y": 1}) == ["a", "b"]


def test_the_empty_filter_can_be_added_and_removed():
    table = LiveTable(Table.build({"a": "true", "b": "x = 1"}))
    assert table.remove("a", Filter())
    assert table.match({}) == []
    assert table.add("b", Filter())
    assert table.match({}) == ["b"]


def test_a_wrong_message_is_refused():
    table = LiveTable(Table.build({"a": "x = 1"}))
    table.add("a", parse_filter("y = 1"))
    with pytest.raises(ValueError, match="NaN is not a value"):
        table.match({"x": float("nan")})
    with pytest.raises(ValueError, match="NaN is not a value"):
        table.match({"y": float("nan")})  # of a filter that is not compiled
    assert table.match({"x": 1, "z": float("nan")}) == ["a"]
    for wrong in ({"x": 1, "y": "\ud800"}, {"x": 1, "y": [b"1"]}, {"x": 1, 5: 1}):
        with pytest.raises(ValueError):
            table.match(wrong)
        assert table.match({}) == []  # nothing is left of the wrong message


def test_readers_never_see_half_of_a_replacement():
    # Both predicates match the message, so at every moment the answer is ["a"].
    table = LiveTable(Table.build({"a": "x = 1", "b": "y = 1"}))
    first, second = parse("x = 1 or z = 3"), parse("x < 2 or z = 4")
    wrong: list[object] = []
    ended = threading.Event()

    def read():
        while not ended.is_set():
            found = table.match({"x": 1})
            if found != ["a"]:
                wrong.append(found)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(300):
        table.replace("a", (second, first)[turn % 2])
    ended.set()
    for reader in readers:
        reader.join()
    table.wait()
    assert wrong == []


def test_a_long_run_with_merges_in_the_background():
    source = random.Random(3)
    texts = (
        [f"x = {n}" for n in range(20)]
        + [f"x < {n}" for n in range(20)]
        + [f's ^= "{c}" and x > {n}' for c in "abc" for n in range(6)]
    )
    pool = [parse_filter(text) for text in texts]
    table, model = LiveTable(), {}
    for step in range(1_500):
        rule, filter = source.choice("abcd"), source.choice(pool)
        apply(table, model, ("add" if source.random() < 0.55 else "remove", rule, filter, None), None)
        if step % 10 == 0:
            message = Message({"x": source.randrange(-1, 21), "s": source.choice(["a", "bx", "c", "d"])})
            expected = [key for key in model if any(filter.matches(message) for filter in model[key])]
            assert sorted(table.match(message)) == sorted(expected)
        if step % 100 == 0:
            table.wait()  # else few merges end: the steps leave the merger little time
    table.wait()
    assert table.merges > 10
    assert {key: table.filters(key) for key in model} == model


@given(st.lists(filters(max_size=4), max_size=8), st.data())
def test_filters_that_are_not_compiled_yet_match(added, data):
    table = LiveTable()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memtable, "MAX_FILTERS", 100)
        for rule, filter in enumerate(added):
            table.add(rule, filter)
        message = data.draw(messages_near(*added))
        expected = [rule for rule, filter in enumerate(added) if filter.matches(message)]
        assert table.match(message) == table.match(message.to_dict()) == expected
    assert table.merges == 0


def test_a_table_is_compiled_again_after_most_filters_were_removed():
    table = LiveTable(Table.build({n: f"x = {n}" for n in range(20)}))
    for n in range(15):
        table.remove(n, parse_filter(f"x = {n}"))
    table.wait()
    assert table.merges > 0
    assert [n for n in range(20) if table.match({"x": n})] == [15, 16, 17, 18, 19]


def test_many_filters_on_one_attribute_are_soon_compiled(monkeypatch):
    monkeypatch.setattr(memtable, "MAX_FILTERS", 10_000)
    monkeypatch.setattr(memtable, "MAX_CANDIDATES", 50)
    table = LiveTable()
    for n in range(49):
        table.add("a", parse_filter(f"x > {n}"))
    assert table._merger is None
    table.add("a", parse_filter("x > 49"))
    table.wait()
    assert table.merges == 1
    assert table.match({"x": 1}) == ["a"]


@pytest.mark.parametrize("engine", ["counting", "tags", "bloom"])
def test_a_table_of_another_engine_is_refused_with_a_remedy(engine):
    with pytest.raises(InputError, match=f"the engine {engine} cannot be changed; compile it for the engine pivot"):
        LiveTable(Table.build({"a": "#x"}, engine=engine))


def test_a_failed_merge_is_reported_and_loses_nothing(monkeypatch):
    table = LiveTable()
    monkeypatch.setattr(live, "merge_columns", lambda *_: 1 / 0)
    for n in range(10):
        table.add("a", parse_filter(f"x = {n}"))
    with pytest.raises(CbnetError, match="a merge failed: ZeroDivisionError"):
        table.wait()
    assert all(table.match({"x": n}) == ["a"] for n in range(10))
