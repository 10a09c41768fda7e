import json
import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbnet.matching import Table
from cbnet.pipeline.ingest.fields import TOO_FEW, Layout
from cbnet.pipeline.ingest.parsers import (
    NO_TYPE,
    NO_USER,
    NOT_A_TWEET,
    NOT_COUNTS,
    NOT_PAIRS,
    TWICE,
    UNKNOWN_WORD,
    WRONG_NUMBER,
    bare_tags,
    parse_pairs,
    parse_table,
    parse_text,
    parse_tweets,
    parse_word_counts,
    tag_lists,
)
from cbnet.pipeline.ingest.readers import schema_of
from cbnet.pipeline.ingest.source import Source
from cbnet.pipeline.schemas import COUNTS, FOLLOWS, POSTS, TAGGED, arrow_schema

COLUMNS = {"user": 1, "item": 2, "tags": 3}


def source(**changes):
    return Source.of({"path": "f", "format": "tagged", "columns": COLUMNS, **changes})


def parse_lines(source, schema, *lines):
    indexes = [column - 1 for column in source.file_columns.values()]
    layout = Layout(source.separator, indexes)
    parsed = parse_text(pa.array(lines, pa.string()), layout, [*source.file_columns], arrow_schema(schema), source)
    assert parsed.rows.schema == arrow_schema(schema)
    return [tuple(row.values()) for row in parsed.rows.to_pylist()], parsed.lines.tolist(), parsed.rejected


def test_line_has_user_item_and_tags():
    rows = parse_lines(source(), TAGGED, "ann\thttp://x\tred  blue ", " bob \ty\tred")
    assert rows == ([("ann", "http://x", ["red", "blue"]), ("bob", "y", ["red"])], [0, 1], {})


def test_tags_and_item_are_optional_and_user_is_required():
    rows = parse_lines(source(), TAGGED, "ann\t\ta", "ann\tx\t", "\tx\ta", " \tx\ta", "ann\tx")
    assert rows == ([("ann", None, ["a"]), ("ann", "x", [])], [0, 1], {2: "no user", 3: "no user", 4: TOO_FEW})


def test_missing_column_is_null():
    assert parse_lines(source(columns={"tags": 2, "item": 1}), TAGGED, "x\ta b") == ([(None, "x", ["a", "b"])], [0], {})


def test_absent_values_are_null():
    rows = parse_lines(source(absent=["-", "[none]"]), TAGGED, "ann\t-\t[none]", "-\tx\ta", "ann\tx\t- a")
    assert rows == ([("ann", None, []), ("ann", "x", ["-", "a"])], [0, 2], {1: "no user"})


def test_posts_need_a_user_and_a_text():
    posts = Source.of({"preset": "posts", "path": "f"})
    rows = parse_lines(posts, POSTS, "ann\tsome text ", "ann\t ", "\ttext")
    assert rows == ([("ann", None, "some text")], [0], {1: "no text", 2: "no user"})


def test_follows_need_follower_and_author():
    follows = Source.of({"preset": "followers", "path": "f"})
    assert parse_lines(follows, FOLLOWS, "12 13", "12", "7\t8") == ([("12", "13"), ("7", "8")], [0, 2], {1: TOO_FEW})


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


TYPES = {"s": "string", "i": "int", "f": "float", "b": "bool", "#": "tags"}


def table(*lines, types=TYPES, absent=("", "NA")):
    columns = {name: index for index, name in enumerate(types, 1)}
    section = {"path": "f", "format": "table", "separator": ",", "types": types, "columns": columns, "absent": absent}
    source = Source.of(section)
    parsed = parse_table(
        pa.array(lines, pa.string()), Layout(",", range(len(types))), arrow_schema(schema_of(source)), source
    )
    return parsed.rows.to_pylist(), parsed.lines.tolist(), parsed.rejected


def pairs(*lines, types):
    source = Source.of({"path": "f", "format": "quotes", "types": types})
    parsed = parse_pairs(pa.array(lines, pa.string()), arrow_schema(schema_of(source)), source)
    return parsed.rows.to_pylist(), parsed.lines.tolist(), parsed.rejected


def test_each_cell_has_its_type():
    rows, _, rejected = table("x, 7 ,-1.5,true,a b", "NA,+8,.5e1,FALSE,")
    assert rows == [
        {"s": "x", "i": 7, "f": -1.5, "b": True, "#": ["a", "b"]},
        {"s": None, "i": 8, "f": 5.0, "b": False, "#": []},
    ]
    assert rejected == {}


def test_absent_value_is_null_in_every_type():
    assert table("NA,NA,,NA,NA")[0] == [{"s": None, "i": None, "f": None, "b": None, "#": []}]


@pytest.mark.parametrize("text", ["x", "1.0", "1e3", "--1", "9" * 19, "0x1", "1 2", "٣"])
def test_text_that_is_not_an_int_is_rejected(text):
    assert table(f"s,{text},1,true,") == ([], [], {0: "i is not an int"})


@pytest.mark.parametrize("text", ["x", "nan", "inf", "1e999", "9" * 400, ".", "1.2.3", "e5", "-"])
def test_text_that_is_not_a_finite_float_is_rejected(text):
    assert table(f"s,1,{text},true,") == ([], [], {0: "f is not a float"})


@pytest.mark.parametrize("text", ["yes", "1", "t", "tRuE"])
def test_text_that_is_neither_true_nor_false_is_rejected(text):
    assert table(f"s,1,1,{text},") == ([], [], {0: "b is not true or false"})


def test_wrong_cell_does_not_affect_other_lines():
    rows, lines, rejected = table("a,1,1,true,", "b,x,1,true,", "c,2,x,true,", "d,3,1,true,")
    assert ([row["s"] for row in rows], lines) == (["a", "d"], [0, 3])
    assert rejected == {1: "i is not an int", 2: "f is not a float"}


@given(st.integers(-(10**18) + 1, 10**18 - 1))
def test_ints_of_18_digits_are_exact(number):
    assert table(str(number), types={"i": "int"})[0] == [{"i": number}]


@given(st.floats(-1e90, 1e90).filter(lambda x: x == 0 or abs(x) > 1e-90))
def test_floats_are_read_as_python_prints_them(number):
    found = table(repr(number), types={"f": "float"})[0][0]["f"]
    assert found == number
    assert math.copysign(1, found) == math.copysign(1, number)


QUOTE = {"class": "string", "symbol": "string", "open": "float", "volume": "int"}


def test_pairs_are_attributes_in_any_order():
    rows, lines, rejected = pairs(
        "[class,'STOCK'],[symbol,'A,B'],[open,9.25],[volume,59500]", " [volume, 7],[class,'x']", types=QUOTE
    )
    assert rows == [
        {"class": "STOCK", "symbol": "A,B", "open": 9.25, "volume": 59500},
        {"class": "x", "symbol": None, "open": None, "volume": 7},
    ]
    assert (lines, rejected) == ([0, 1], {})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", NOT_PAIRS),
        ("[]", NOT_PAIRS),
        ("[", NOT_PAIRS),
        ("class,'x'", NOT_PAIRS),
        ("[class]", NOT_PAIRS),
        ("[class,]", NOT_PAIRS),
        ("[class,'x],[open,1]", NOT_PAIRS),
        ("[class,'x'][class,'y']", NOT_PAIRS),  # two lines that were glued together
        ("[class,'x'] [open,1]", NOT_PAIRS),
        ("[class,'x'],[colour,'red']", NO_TYPE),
        ("[class,'x'],[class,'y']", TWICE),
        ("[open,x]", "open is not a float"),
        ("[volume,1.5]", "volume is not an int"),
    ],
)
def test_malformed_lines_are_rejected_with_a_reason(line, reason):
    rows, lines, rejected = pairs("[class,'a']", line, "[class,'b']", types=QUOTE)
    assert ([row["class"] for row in rows], lines, rejected) == (["a", "b"], [0, 2], {1: reason})


def test_table_matches_the_parsed_columns():
    source = Source.of({"path": "f", "format": "quotes", "types": QUOTE})
    lines = pa.array(["[class,'STOCK'],[symbol,'AA'],[open,9.25],[volume,5]", "[symbol,'BB'],[open,20]"])
    parsed = parse_pairs(lines, arrow_schema(schema_of(source)), source)
    table = Table.build({"cheap": "open < 10", "some": "exists volume", "b": 'symbol ^= "B"'})
    assert table.match_frame(parsed.rows).to_pylist() == [["cheap", "some"], ["b"]]


WORDS = [f"w{number}" for number in range(20)]


def counted(*lines):
    parsed = parse_word_counts(pa.array(lines, pa.string()), arrow_schema(COUNTS), pa.array(WORDS))
    assert parsed.rows.schema == arrow_schema(COUNTS)
    rows = [(row["words"], row["counts"]) for row in parsed.rows.to_pylist()]
    return rows, parsed.lines.tolist(), parsed.rejected


def test_words_are_looked_up_by_number():
    assert counted("3 0:2 7:1 12:1") == ([(["w0", "w7", "w12"], [2, 1, 1])], [0], {})


def test_document_may_be_empty():
    assert counted("0", " 0 ", "1 3:1 ") == ([([], []), ([], []), (["w3"], [1])], [0, 1, 2], {})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("2 1:1", WRONG_NUMBER), ("0 1:1", WRONG_NUMBER), ("1", WRONG_NUMBER),
        ("1 20:1", UNKNOWN_WORD), ("1 999999999:1", UNKNOWN_WORD),
        ("x", NOT_COUNTS), ("", NOT_COUNTS), ("1 1", NOT_COUNTS), ("1 1:", NOT_COUNTS), ("1 -1:1", NOT_COUNTS),
        ("1 1:1:1", NOT_COUNTS), ("1 1:9999999999", NOT_COUNTS), ("1:1", NOT_COUNTS),
    ],
)  # fmt: skip
def test_malformed_word_counts_are_rejected_with_a_reason(line, reason):
    rows, lines, rejected = counted("1 1:1", line, "1 2:5")
    assert (rows, lines, rejected) == ([(["w1"], [1]), (["w2"], [5])], [0, 2], {1: reason})


@given(st.lists(st.lists(st.tuples(st.integers(0, 25), st.integers(0, 99)), max_size=4), max_size=6), st.integers(0, 1))
def test_batch_equals_line_by_line_parsing(documents, excess):
    lines = [" ".join([str(len(pairs) + excess), *(f"{word}:{count}" for word, count in pairs)]) for pairs in documents]
    rows, numbers, rejected = counted(*lines)
    good = [] if excess else [n for n, pairs in enumerate(documents) if all(word < 20 for word, _ in pairs)]
    assert numbers == good
    assert rows == [([WORDS[w] for w, _ in documents[n]], [c for _, c in documents[n]]) for n in good]
    assert sorted(rejected) == [n for n in range(len(documents)) if n not in good]


def tweeted(*lines):
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    parsed = parse_tweets(pa.array(texts, pa.string()), arrow_schema(TAGGED))
    assert parsed.rows.schema == arrow_schema(TAGGED)
    return [tuple(row.values()) for row in parsed.rows.to_pylist()], parsed.lines.tolist(), parsed.rejected


def tweet(tags=(), links=(), **members):
    urls = [{"url": f"http://t.co/{link}", "expanded_url": f"http://{link}", "indices": [0, 1]} for link in links]
    entities = {"hashtags": [{"text": tag, "indices": [1, 2]} for tag in tags], "urls": urls}
    return {"id": 1, "text": "…", "user": {"id": 7, "id_str": "7", "name": "x"}, "entities": entities, **members}


def test_tweet_has_user_link_and_hashtags():
    assert tweeted(tweet(["sun", "Köln"], ["a"])) == ([("7", "http://a", ["sun", "Köln"])], [0], {})


def test_each_distinct_link_is_a_row():
    rows, lines, _ = tweeted(tweet(["x"], ["a", "b", "a"]), tweet(["y"], ["c"]))
    assert [(item, tags) for _, item, tags in rows] == [("http://a", ["x"]), ("http://b", ["x"]), ("http://c", ["y"])]
    assert lines == [0, 0, 1]


def test_links_and_hashtags_are_optional():
    assert tweeted(tweet(["x"]), tweet([], ["a"]), tweet(entities=None))[0] == [
        ("7", None, ["x"]), ("7", "http://a", []), ("7", None, []),
    ]  # fmt: skip


def test_short_link_is_used_without_a_long_one():
    entities = {"urls": [{"url": "http://t.co/1", "expanded_url": None}, {}]}
    assert tweeted(tweet(entities=entities))[0] == [("7", "http://t.co/1", [])]


def test_version_2_tweets_are_read():
    later = {
        "author_id": "9",
        "text": "…",
        "entities": {"hashtags": [{"tag": "#sun"}], "urls": [{"expanded_url": "http://a"}]},
    }
    assert tweeted(later)[0] == [("9", "http://a", ["sun"])]


@pytest.mark.parametrize(
    ("user", "name"),
    [({"id": 8}, "8"), ({"id": "8"}, "8"), ({"screen_name": "ann"}, "ann"), ({"id_str": "", "id": 5}, "5")],
)
def test_user_is_any_available_identifier(user, name):
    assert tweeted(tweet(user=user))[0] == [(name, None, [])]


def test_stream_notices_are_ignored():
    assert tweeted({"delete": {"status": {"id": 1}}}, {"limit": {"track": 3}}) == ([], [], {})


@pytest.mark.parametrize(
    "line", ["{", "[]", "7", '"x"', '{"user": 7}', '{"user": {"id": 1}, "entities": {"urls": 3}}', ""]
)
def test_line_that_is_not_a_tweet_is_rejected(line):
    assert tweeted(line, tweet([], ["a"])) == ([("7", "http://a", [])], [1], {0: NOT_A_TWEET})


def test_tweet_without_a_user_is_rejected():
    assert tweeted(tweet(user=None), tweet(user={})) == ([], [], {0: NO_USER, 1: NO_USER})
