"""Tweets: who linked to what, with which hashtags? JSON lines with entities, as Twitter's interfaces gave them.

    {"user": {"id_str": "7"}, "entities": {"hashtags": [{"text": "sun"}], "urls": [{"expanded_url": "http://…"}]}}
    {"author_id": "7", "entities": {"hashtags": [{"tag": "sun"}], "urls": [{"expanded_url": "http://…"}]}}

A tweet with several links is a row for each, one without a link a row without an item. Lines that are no tweets but
notices of the stream, such as {"delete": …}, say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
import pyarrow as pa

from cbnet.pipeline.ingest.parse_result import Parsed
from cbnet.pipeline.ingest.text_parser import bare_tags

NOT_A_TWEET = "not a JSON object of a tweet"
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


def parse_tweets(lines: pa.Array, schema: pa.Schema, prefix: str = "#") -> Parsed:
    """Return a row for each link of each tweet."""
    users, items, tags, numbers = [], [], [], []
    bad: dict[int, str] = {}
    for number, line in enumerate(lines.to_pylist()):
        try:
            tweet = _decode(line)
        except msgspec.MsgspecError:
            bad[number] = NOT_A_TWEET
            continue
        author = _author(tweet)
        if author is None:
            if tweet.text is not None or tweet.entities is not None:
                bad[number] = NO_USER
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
    return Parsed(pa.RecordBatch.from_arrays(columns, schema=schema), np.array(numbers, dtype=np.int64), bad)


def _author(tweet: _Tweet) -> str | None:
    user = tweet.user or _User()
    named = (user.id_str, user.id, tweet.author_id, user.screen_name)
    return next((str(name) for name in named if name not in (None, "")), None)


def _hashtags(tweet: _Tweet) -> list[str]:
    found = tweet.entities.hashtags if tweet.entities else None
    return [tag for each in found or () if (tag := (each.text or each.tag or "").strip())]


def _links(tweet: _Tweet) -> Iterator[str | None]:
    """Yield each different link of a tweet; None once if it has none."""
    found = tweet.entities.urls if tweet.entities else None
    links = [link for each in found or () if (link := each.expanded_url or each.url)]
    yield from dict.fromkeys(links) if links else (None,)
