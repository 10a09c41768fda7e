import json

import pyarrow as pa
import pytest

from cbnet.pipeline.ingest.tweet_parser import NO_USER, NOT_A_TWEET, parse_tweets
from cbnet.pipeline.schemas import TAGGED, arrow_schema


def parse(*lines):
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    parsed = parse_tweets(pa.array(texts, pa.string()), arrow_schema(TAGGED))
    assert parsed.rows.schema == arrow_schema(TAGGED)
    return [tuple(row.values()) for row in parsed.rows.to_pylist()], parsed.lines.tolist(), parsed.rejected


def tweet(tags=(), links=(), **members):
    urls = [{"url": f"http://t.co/{link}", "expanded_url": f"http://{link}", "indices": [0, 1]} for link in links]
    entities = {"hashtags": [{"text": tag, "indices": [1, 2]} for tag in tags], "urls": urls}
    return {"id": 1, "text": "…", "user": {"id": 7, "id_str": "7", "name": "x"}, "entities": entities, **members}


def test_tweet_has_user_link_and_hashtags():
    assert parse(tweet(["sun", "Köln"], ["a"])) == ([("7", "http://a", ["sun", "Köln"])], [0], {})


def test_each_distinct_link_is_a_row():
    rows, lines, _ = parse(tweet(["x"], ["a", "b", "a"]), tweet(["y"], ["c"]))
    assert [(item, tags) for _, item, tags in rows] == [("http://a", ["x"]), ("http://b", ["x"]), ("http://c", ["y"])]
    assert lines == [0, 0, 1]


def test_links_and_hashtags_are_optional():
    assert parse(tweet(["x"]), tweet([], ["a"]), tweet(entities=None))[0] == [
        ("7", None, ["x"]), ("7", "http://a", []), ("7", None, []),
    ]  # fmt: skip


def test_short_link_is_used_without_a_long_one():
    entities = {"urls": [{"url": "http://t.co/1", "expanded_url": None}, {}]}
    assert parse(tweet(entities=entities))[0] == [("7", "http://t.co/1", [])]


def test_version_2_tweets_are_read():
    later = {
        "author_id": "9",
        "text": "…",
        "entities": {"hashtags": [{"tag": "#sun"}], "urls": [{"expanded_url": "http://a"}]},
    }
    assert parse(later)[0] == [("9", "http://a", ["sun"])]


@pytest.mark.parametrize(
    ("user", "name"),
    [({"id": 8}, "8"), ({"id": "8"}, "8"), ({"screen_name": "ann"}, "ann"), ({"id_str": "", "id": 5}, "5")],
)
def test_user_is_any_available_identifier(user, name):
    assert parse(tweet(user=user))[0] == [(name, None, [])]


def test_stream_notices_are_ignored():
    assert parse({"delete": {"status": {"id": 1}}}, {"limit": {"track": 3}}) == ([], [], {})


@pytest.mark.parametrize(
    "line", ["{", "[]", "7", '"x"', '{"user": 7}', '{"user": {"id": 1}, "entities": {"urls": 3}}', ""]
)
def test_line_that_is_not_a_tweet_is_rejected(line):
    assert parse(line, tweet([], ["a"])) == ([("7", "http://a", [])], [1], {0: NOT_A_TWEET})


def test_tweet_without_a_user_is_rejected():
    assert parse(tweet(user=None), tweet(user={})) == ([], [], {0: NO_USER, 1: NO_USER})
