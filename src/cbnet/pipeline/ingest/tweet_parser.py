"""Rows of users, links and hashtags from tweets: JSON lines with entities, as of Twitter's interfaces.

    {"user": {"id_str": "7"}, "entities": {"hashtags": [{"text": "sun"}], "urls": [{"expanded_url": "http://…"}]}}
    {"author_id": "7", "entities": {"hashtags": [{"tag": "sun"}], "urls": [{"expanded_url": "http://…"}]}}

A tweet gives a row for each link, or one row without an item. Notices of the stream, such as {"delete": …}, are
ignored.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
import pyarrow as pa

from cbnet.pipeline.ingest.fields import ParsedLines
from cbnet.pipeline.ingest.text_parser import bare_tags

NOT_A_TWEET = "not the JSON object of a tweet"
NO_USER = "no user"


class _User(msgspec.Struct):
    id_str: str | None = None
    id: int | str | None = None
    screen_name: str | None = None


class _Hashtag(msgspec.Struct):
    text: str | None = None
    tag: str | None = None


class _Link(msgspec.Struct):
    expanded_url: str | None = None
    url: str | None = None


class _Entities(msgspec.Struct):
    hashtags: list[_Hashtag] | None = None
    urls: list[_Link] | None = None


class _Tweet(msgspec.Struct):
    user: _User | None = None
    author_id: int | str | None = None
    entities: _Entities | None = None
    text: str | None = None


_decode = msgspec.json.Decoder(_Tweet).decode


def parse_tweets(lines: pa.Array, schema: pa.Schema, prefix: str = "#") -> ParsedLines:
    """Parse tweets to a row for each link."""
    users, items, tags, numbers = [], [], [], []
    rejected: dict[int, str] = {}
    for number, line in enumerate(lines.to_pylist()):
        try:
            tweet = _decode(line)
        except msgspec.MsgspecError:
            rejected[number] = NOT_A_TWEET
            continue
        author = _author(tweet)
        if author is None:
            if tweet.text is not None or tweet.entities is not None:
                rejected[number] = NO_USER
            continue
        hashtags = _hashtags(tweet)
        for link in _links(tweet):
            users.append(author)
            items.append(link)
            tags.append(hashtags)
            numbers.append(number)
    lists = pa.array(tags, pa.list_(pa.string()))
    lists = pa.ListArray.from_arrays(lists.offsets, bare_tags(lists.flatten(), prefix))
    columns = [pa.array(users, pa.string()), pa.array(items, pa.string()), lists]
    return ParsedLines(pa.RecordBatch.from_arrays(columns, schema=schema), np.array(numbers, dtype=np.int64), rejected)


def _author(tweet: _Tweet) -> str | None:
    user = tweet.user or _User()
    names = (user.id_str, user.id, tweet.author_id, user.screen_name)
    return next((str(name) for name in names if name not in (None, "")), None)


def _hashtags(tweet: _Tweet) -> list[str]:
    hashtags = tweet.entities.hashtags if tweet.entities else None
    return [tag for each in hashtags or () if (tag := (each.text or each.tag or "").strip())]


def _links(tweet: _Tweet) -> Iterator[str | None]:
    """Yield the distinct links of a tweet; None once if it has none."""
    urls = tweet.entities.urls if tweet.entities else None
    links = [link for each in urls or () if (link := each.expanded_url or each.url)]
    yield from dict.fromkeys(links) if links else (None,)
