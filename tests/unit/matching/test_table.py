import pytest

from cbnet import Constraint, Filter, InputError, Message, Table, parse, parse_filter, size
from cbnet.errors import FileError
from cbnet.matching import LiveTable, row_matching

# [2001 Figure 4] (2003 Figure 3): three interfaces, seven filters.
FIGURE_4 = {
    "I1": 'dest = "Milano" and price < 500 or stock = "DYS" and quantity > 1000 and price < 500',
    "I2": 'airline = "UA" and orig = "Denver" and dest = "Milano" or dest = "New York" and price < 200 '
    'or orig = "Denver" or airline = "UA" and upgradeable = true',
    "I3": 'stock = "MSFT" and price < 200',
}


def test_the_filters_of_figure_4_have_the_papers_sizes():
    table = Table.build(FIGURE_4)
    sizes = [size(filter) for rule in table for filter in table[rule]]
    assert sizes == [2, 3, 3, 2, 1, 2, 2]


def test_all_mistakes_of_a_table_are_reported_together_up_to_a_limit():
    rules = {"a": "x =", "b": "x = 1", 3: "y => 1", True: "z = 1", **{f"r{number}": "=" for number in range(30)}}
    with pytest.raises(FileError) as caught:
        Table.build(rules)
    assert [error.location for error in caught.value.errors[:2]] == ["rule 'a':1:4", "rule 3:1:3"]
    assert "true cannot be the name of a rule" in str(caught.value)
    assert caught.value.reported[-1].problem == "13 more mistakes"


def test_messages_of_an_iterator_are_taken_some_at_a_time(monkeypatch):
    monkeypatch.setattr(row_matching, "FIRST_ROWS", 4)
    monkeypatch.setattr(row_matching, "_MATCHES", 10)
    table, taken = Table.build({"even": "x in (0, 2, 4, 6, 8)", "all": "true"}), []
    found = table.match_many(taken.append(x) or {"x": x % 10} for x in range(1000))
    assert taken == []
    assert next(found) == ["even", "all"]
    assert len(taken) == 4
    assert [["even", "all"], *found] == [["even", "all"], ["all"]] * 500


def test_a_wrong_message_of_an_iterator_is_named_by_its_number(monkeypatch):
    monkeypatch.setattr(row_matching, "FIRST_ROWS", 2)
    found = Table.build({"a": "x = 1"}).match_many(iter([{"x": 1}, {"x": 2}, {}, {"x": float("nan")}]))
    with pytest.raises(InputError, match="message 4: x: NaN is not a value"):
        list(found)


@pytest.mark.parametrize(
    ("message", "rules"),
    [
        ({"dest": "Milano", "price": 450}, ["I1"]),  # f1.1
        ({"dest": "Milano", "price": 500}, []),  # 500 is not below 500
        ({"stock": "DYS", "quantity": 1001, "price": 499}, ["I1"]),  # f1.2
        ({"stock": "DYS", "quantity": 1000, "price": 499}, []),
        (
            {"airline": "UA", "orig": "Denver", "dest": "Milano", "price": 300},
            ["I1", "I2"],
        ),  # f1.1, f2.1 and f2.3
        ({"dest": "New York", "price": 199}, ["I2"]),  # f2.2
        ({"dest": "New York", "price": 200, "orig": "Chicago"}, []),
        ({"orig": "Denver"}, ["I2"]),  # f2.3
        ({"airline": "UA", "upgradeable": True}, ["I2"]),  # f2.4
        ({"airline": "UA", "upgradeable": False}, []),
        ({"airline": "UA", "upgradeable": 1}, []),  # a number is not a bool
        ({"stock": "MSFT", "price": 199}, ["I3"]),  # f3.1
        ({"stock": "MSFT", "price": 199, "orig": "Denver", "dest": "Milano"}, ["I1", "I2", "I3"]),
        ({}, []),
    ],
)
def test_messages_on_figure_4_go_to_the_expected_rules(message, rules):
    assert Table.build(FIGURE_4).match(message) == rules


def test_the_example_of_2002_does_not_match_although_the_paper_says_so():
    table = Table.build({"f": 'dest = "MXP" and price < 500'})
    message = {"carrier": "UA", "dest": "MXP", "price": 600, "upgradeable": True}
    assert table.match(message) == []
    assert "price < 500 fails: price is 600" in str(table.explain(message, "f"))


def test_a_table_takes_predicates_in_every_form():
    constraint = Constraint("x", "=", 1)
    table = Table.build({1: "x = 1", 2: parse("x = 1"), 3: Filter([constraint]), "four": constraint, 5: "x = 2"})
    assert table.match(Message({"x": 1})) == [1, 2, 3, "four"]
    assert (len(table), list(table)) == (5, [1, 2, 3, "four", 5])
    assert repr(table) == "<Table: rules 5, filters 5>"


def test_a_wrong_text_names_its_rule():
    with pytest.raises(InputError, match="rule 'b':1:3: unknown operator"):
        Table.build({"a": "x = 1", "b": "x == 1"})


@pytest.mark.parametrize("rule", [True, 1.5, None, 2**63, "\ud800"])
def test_an_invalid_rule_is_refused(rule):
    with pytest.raises(InputError):
        Table.build({rule: "true"})


def test_an_unknown_rule_is_named():
    with pytest.raises(InputError, match=r"no rule 'b' in the table; it has 'a'$"):
        Table.build({"a": "true"}).explain({}, "b")


@pytest.mark.parametrize(
    "message", [{"x": "\ud800"}, {"#": ["\ud800"]}, {"x": b"1"}, {"x": 2**63}, {"x": [1, float("nan")]}, {5: 1}]
)
def test_a_wrong_message_is_refused_by_every_path(message):
    from cbnet.matching import LiveTable

    table = Table.build({"a": "x = 1 or #t"})
    for match in (table.match, LiveTable(table).match, lambda wrong: table.match_many([{"x": 1}, wrong])):
        with pytest.raises(InputError):
            match(message)


@pytest.mark.parametrize("wrong", [True, 1.0, None])
def test_only_strings_and_ints_are_rules(wrong):
    table = Table.build({1: "x = 1"})
    live = LiveTable(table)
    for call in (lambda: table[wrong], lambda: live.add(wrong, parse_filter("x = 2")), lambda: live.filters(wrong)):
        with pytest.raises(InputError, match="cannot be the name of a rule"):
            call()


@pytest.mark.parametrize("key", [True, 1.0, None, "1", 2])
def test_a_key_that_is_not_an_rule_of_the_table_is_a_key_error(key, tmp_path):
    table = Table.build({1: "x = 1"})
    table.save(tmp_path / "table.cbt")
    for each in (table, Table.open(tmp_path / "table.cbt")):
        assert str(each[1]) == "x = 1"
        assert 1 in each
        assert key not in each
        with pytest.raises(KeyError):
            each[key]


@pytest.mark.parametrize("engine", ["pivot", "counting", "tags", "bloom"])
def test_samples_are_messages_or_dicts(engine):
    messages = [{"x": 1, "#": ["a", "b"]}, {"#": ["a"]}]
    for sample in (messages, [Message.of(message) for message in messages]):
        table = Table.build({1: "#a", 2: "#a and #b"}, engine=engine, sample=sample)
        assert table.match({"#": ["a", "b"]}) == [1, 2]


@pytest.mark.parametrize("engine", ["pivot", "counting", "tags", "bloom"])
@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"x": float("nan")}, "sample message 2: x: NaN is not a value"),
        ({"x": b"1"}, "sample message 2: x: a bytes object is not a value"),
        ({"#": "sale"}, "sample message 2: the tags must be a list of strings"),
        ("x = 1", "sample message 2: 'x = 1' is not a message"),
    ],
)
def test_a_sample_that_is_not_a_message_is_refused(engine, wrong, problem):
    with pytest.raises(InputError, match=problem):
        Table.build({1: "#a"}, engine=engine, sample=[{"x": 1}, wrong])


def test_the_constructor_refuses_predicates_and_names_build():
    with pytest.raises(ValueError, match=r"Table\.build"):
        Table({"a": "x = 1"})
