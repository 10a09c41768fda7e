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
    indexes = [column - 1 for column in source.file_columns.values()]
    layout = Layout(source.separator, indexes)
    parsed = parse_text(pa.array(lines, pa.string()), layout, [*source.file_columns], arrow_schema(schema), source)
    assert parsed.rows.schema == arrow_schema(schema)
    return [tuple(row.values()) for row in parsed.rows.to_pylist()], parsed.lines.tolist(), parsed.rejected


def test_line_has_user_item_and_tags():
    rows = parse(source(), TAGGED, "ann\thttp://x\tred  blue ", " bob \ty\tred")
    assert rows == ([("ann", "http://x", ["red", "blue"]), ("bob", "y", ["red"])], [0, 1], {})


def test_tags_and_item_are_optional_and_user_is_required():
    rows = parse(source(), TAGGED, "ann\t\ta", "ann\tx\t", "\tx\ta", " \tx\ta", "ann\tx")
    assert rows == ([("ann", None, ["a"]), ("ann", "x", [])], [0, 1], {2: "no user", 3: "no user", 4: TOO_FEW})


def test_missing_column_is_null():
    assert parse(source(columns={"tags": 2, "item": 1}), TAGGED, "x\ta b") == ([(None, "x", ["a", "b"])], [0], {})


def test_absent_values_are_null():
    rows = parse(source(absent=["-", "[none]"]), TAGGED, "ann\t-\t[none]", "-\tx\ta", "ann\tx\t- a")
    assert rows == ([("ann", None, []), ("ann", "x", ["-", "a"])], [0, 2], {1: "no user"})


def test_posts_need_a_user_and_a_text():
    posts = Source.of({"preset": "posts", "path": "f"})
    rows = parse(posts, POSTS, "ann\tsome text ", "ann\t ", "\ttext")
    assert rows == ([("ann", None, "some text")], [0], {1: "no text", 2: "no user"})


def test_follows_need_follower_and_author():
    follows = Source.of({"preset": "followers", "path": "f"})
    assert parse(follows, FOLLOWS, "12 13", "12", "7\t8") == ([("12", "13"), ("7", "8")], [0, 2], {1: TOO_FEW})


def test_tags_are_split_at_their_separator_and_stripped():
    lists = tag_lists(pa.array([" a b |c||", "", "|", "d"]), source(tag_separator="|"))
    assert lists.to_pylist() == [["a b", "c"], [], [], ["d"]]


def test_one_prefix_is_stripped():
    assert bare_tags(pa.array(["#a", "a#", "##a", "#", " #b "]), "#").to_pylist() == ["a", "a#", "#a", "", "b"]
    assert tag_lists(pa.array(["#a # #b"]), source(tag_prefix="#")).to_pylist() == [["a", "b"]]
    assert bare_tags(pa.array(["#a"]), "").to_pylist() == ["#a"]


@given(st.lists(st.text(max_size=12), max_size=5))
def test_blanks_separate_tags_as_python_splits(texts):
    found = tag_lists(pa.array(texts, pa.string()), source()).to_pylist()
    assert found == [text.split() for text in texts]
