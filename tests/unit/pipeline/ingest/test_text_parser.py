import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from cbnet.pipeline.ingest.fields import TOO_FEW, Layout
from cbnet.pipeline.ingest.source import Source
from cbnet.pipeline.ingest.text_parser import bare_tags, parse_text, tag_lists
from cbnet.pipeline.schemas import FOLLOWS, POSTS, TAGGED, arrow_schema

COLUMNS = {"user": 1, "item": 2, "tags": 3}


def source(**changes):
    return Source.of({"path": "f", "format": "tagged", "columns": COLUMNS, **changes})


def parse(source, schema, *lines):
    places = [column - 1 for column in source.wanted.values()]
    layout = Layout(source.separator, places)
    parsed = parse_text(pa.array(lines, pa.string()), layout, [*source.wanted], arrow_schema(schema), source)
    assert parsed.rows.schema == arrow_schema(schema)
    return [tuple(row.values()) for row in parsed.rows.to_pylist()], parsed.lines.tolist(), parsed.bad


def test_a_line_is_a_user_an_item_and_its_tags():
    rows = parse(source(), TAGGED, "ann\thttp://x\tred  blue ", " bob \ty\tred")
    assert rows == ([("ann", "http://x", ["red", "blue"]), ("bob", "y", ["red"])], [0, 1], {})


def test_no_tags_and_no_item_are_facts_and_no_user_is_a_mistake():
    rows = parse(source(), TAGGED, "ann\t\ta", "ann\tx\t", "\tx\ta", " \tx\ta", "ann\tx")
    assert rows == ([("ann", None, ["a"]), ("ann", "x", [])], [0, 1], {2: "no user", 3: "no user", 4: TOO_FEW})


def test_a_column_that_is_not_asked_for_is_null():
    assert parse(source(columns={"tags": 2, "item": 1}), TAGGED, "x\ta b") == ([(None, "x", ["a", "b"])], [0], {})


def test_absent_values_are_none():
    rows = parse(source(absent=["-", "[none]"]), TAGGED, "ann\t-\t[none]", "-\tx\ta", "ann\tx\t- a")
    assert rows == ([("ann", None, []), ("ann", "x", ["-", "a"])], [0, 2], {1: "no user"})


def test_posts_need_a_user_and_a_text():
    posts = Source.of({"preset": "posts", "path": "f"})
    rows = parse(posts, POSTS, "ann\tsome text ", "ann\t ", "\ttext")
    assert rows == ([("ann", None, "some text")], [0], {1: "no text", 2: "no user"})


def test_follows_need_both():
    follows = Source.of({"preset": "followers", "path": "f"})
    assert parse(follows, FOLLOWS, "12 13", "12", "7\t8") == ([("12", "13"), ("7", "8")], [0, 2], {1: TOO_FEW})


def test_tags_are_cut_at_their_separator_and_stripped():
    lists = tag_lists(pa.array([" a b |c||", "", "|", "d"]), source(tag_separator="|"))
    assert lists.to_pylist() == [["a b", "c"], [], [], ["d"]]


def test_one_prefix_is_taken_off():
    assert bare_tags(pa.array(["#a", "a#", "##a", "#", " #b "]), "#").to_pylist() == ["a", "a#", "#a", "", "b"]
    assert tag_lists(pa.array(["#a # #b"]), source(tag_prefix="#")).to_pylist() == [["a", "b"]]
    assert bare_tags(pa.array(["#a"]), "").to_pylist() == ["#a"]


@given(st.lists(st.text(max_size=12), max_size=5))
def test_blanks_separate_tags_like_python_splits(texts):
    found = tag_lists(pa.array(texts, pa.string()), source()).to_pylist()
    assert found == [text.split() for text in texts]
