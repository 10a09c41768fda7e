from cbnet import Table, parse_filter


def explain(predicate, message):
    return Table.build({"i": predicate}).explain(message, "i")


def test_the_filter_that_matched_is_named():
    explanation = explain("x = 2 or x > 0 and #a", {"x": 1, "#": ["a"]})
    assert explanation.matched
    assert explanation.filter == parse_filter("x > 0 and #a")
    assert str(explanation) == "i: matched by x > 0 and #a"


def test_filters_with_the_fewest_failures_are_closest():
    explanation = explain("x = 1 and y = 1 and z = 1 or x = 2 and y = 1 or x = 9 and y = 9", {"x": 1, "y": 1})
    assert not explanation.matched
    assert [str(near.filter) for near in explanation.near_misses] == [
        "x = 1 and y = 1 and z = 1",
        "x = 2 and y = 1",
    ]
    assert [len(near.failures) for near in explanation.near_misses] == [1, 1]


def test_every_failure_is_explained():
    text = str(explain('a < 5 and b = "x" and c > 1 and #vip', {"a": 7, "c": "2"}))
    assert "a < 5 fails: a is 7" in text
    assert 'b = "x" fails: b is absent' in text
    assert 'c > 1 fails: c is "2", a string and not a number' in text
    assert "#vip fails: the tag is missing" in text


def test_an_empty_predicate_is_explained():
    assert str(explain("false", {})) == "i: no match; its predicate is empty"


def test_many_equally_close_filters_are_counted():
    text = str(explain(" or ".join(f"x = {n}" for n in range(10)), {"x": 11}))
    assert text.count("fails") == 3
    assert text.endswith("… and 7 more as close")


def test_a_false_value_is_not_absent():
    assert "x is false" in str(explain("x = true", {"x": False}))
    assert "x is 0" in str(explain("x = 1", {"x": 0}))
