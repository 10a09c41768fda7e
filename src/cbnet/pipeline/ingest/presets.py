"""Layouts of well-known traces: sources without a path."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from cbnet.errors import InputError

_TAGS = {"format": "tagged", "header": True, "columns": {"user": "user", "item": "item", "tags": "tags"}}
_OHLC = {"open": "float", "high": "float", "low": "float", "close": "float"}

PRESETS: dict[str, dict[str, Any]] = {
    # Tags of items by users.
    "bookmarks": _TAGS,
    "music": _TAGS,
    "delicious": {"format": "tagged", "columns": {"user": 1, "item": 3, "tags": 4}},  # user, date, URL, tags
    "hashtags": {**_TAGS, "tag_prefix": "#"},
    "article-tags": {"format": "tagged", "header": True, "columns": {"item": "item", "tags": "tags"}},
    "videos": {
        "format": "tagged", "separator": ",", "quoted": True, "header": True, "tag_separator": "|",
        "absent": ["[none]"],
        "columns": {"user": "channel_title", "item": "video_id", "tags": "tags"},
    },
    "tweets": {
        "format": "tagged", "header": True, "tag_prefix": "#",
        "columns": {"user": "user", "item": "link", "tags": "hashtags"},
    },
    "tweets-json": {"format": "tweets", "tag_prefix": "#"},
    # Posts, articles and followers.
    "posts": {"format": "posts", "columns": {"user": 1, "text": 2}},
    "articles": {"format": "wordcounts"},
    "article-users": {"format": "pairs", "columns": {"user": 1, "item": 2}},
    "followers": {
        "format": "follows", "separator": " ", "comment": "#",
        "columns": {"follower": 1, "author": 2},
    },
    # Messages.
    "stockquotes": {
        "format": "quotes",
        "types": {"class": "string", "symbol": "string", **_OHLC, "volume": "int", "date": "string"},
    },
    "flights": {
        "format": "table", "separator": ",", "quoted": True, "header": True, "absent": ["", "NA"],
        "types": {
            "year": "int", "month": "int", "day": "int", "dep_time": "int", "sched_dep_time": "int",
            "dep_delay": "int", "arr_time": "int", "sched_arr_time": "int", "arr_delay": "int", "carrier": "string",
            "flight": "int", "tailnum": "string", "origin": "string", "dest": "string", "air_time": "int",
            "distance": "int", "hour": "int", "minute": "int", "time_hour": "string",
        },
    },
    # Networks and words.
    "users-per-as": {
        "format": "table", "separator": ",", "header": True,
        "types": {"asn": "int", "users": "int"},
    },
    "as-classes": {
        "format": "table", "separator": ",", "header": True,
        "types": {"asn": "int", "degree": "int", "customer_tree": "int", "class": "string"},
    },
    "as-relations": {
        "format": "table", "separator": "|", "comment": "#",
        "columns": {"a": 1, "b": 2, "relation": 3},
        "types": {"a": "int", "b": "int", "relation": "int"},
    },
    "news-terms": {
        "format": "table", "header": True,
        "types": {"rank": "int", "term": "string", "doc_freq": "int", "term_freq": "int"},
    },
    "words": {"format": "table", "columns": {"word": 1}, "types": {"word": "string"}},
}  # fmt: skip


def preset(name: object) -> dict[str, Any]:
    """Return the members of the source with this name."""
    if name not in PRESETS:
        close = get_close_matches(str(name), PRESETS, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"known presets: {', '.join(PRESETS)}"
        raise InputError(f"source: unknown preset {name!r}", hint=hint)
    return PRESETS[str(name)]
