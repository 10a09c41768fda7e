import random
from collections import defaultdict

import pytest

from cbnet.pipeline.derive.applications import social_subscriptions
from cbnet.pipeline.derive.cleaning import Cleaning, clean_tag
from cbnet.pipeline.derive.derivation import DerivationCounts
from cbnet.pipeline.schemas import FOLLOWS, TAGGED


def tweets(count=150, seed=2):
    """Make tweets, half of them of one link; some without a link, some without hashtags."""
    rng = random.Random(seed)
    for _ in range(count):
        link = "viral" if rng.random() < 0.5 else rng.choice([None, *(f"l{number}" for number in range(15))])
        yield (
            f"a{rng.randrange(12)}",
            link,
            [rng.choice(["Sun", "sun", "suns", "moon", "rain", "x"]) for _ in range(rng.randrange(3))],
        )


def follows(seed=3):
    rng = random.Random(seed)
    yield from {(f"f{rng.randrange(10)}", f"a{rng.randrange(14)}") for _ in range(30)}


def oracle(tweets, follows, cleaning):
    """Derive in plain Python, tweet by tweet and follower by follower."""
    tweets = [*tweets]
    clean = [(user, link, {clean_tag(tag, cleaning) for tag in tags} - {""}) for user, link, tags in tweets]
    counting = [(user, link, tags) for user, link, tags in clean if link is not None and tags]
    of_link = defaultdict(set)
    for _, link, tags in counting:
        of_link[link] |= tags
    found = {(user, tuple(sorted(of_link[link]))) for user, link, _ in counting}
    if follows is not None:
        found = {(follower, tags) for follower, author in follows for user, tags in found if user == author}
    counts = DerivationCounts(
        "social",
        "tweets",
        "subscriptions",
        read=len(tweets),
        tags_read=sum(len(tags) for _, _, tags in tweets),
        kept=len(counting),
        derived=len(found),
        users=len({user for user, _ in found}),
        tags=sum(len(tags) for _, tags in found),
    )
    return sorted(("social", "subscription", user, tags) for user, tags in found), counts


def collected(found):
    rows = [(app, role, user, tuple(tags)) for app, role, user, tags in found.descriptors.collect()]
    return sorted(rows), found.counts()


def test_all_hashtags_of_a_link_apply_to_all_its_authors(frame):
    rows_in = [
        ("ann", "link", ["a", "b"]),
        ("bob", "link", ["c"]),
        ("cid", "other", ["a"]),
        ("dan", None, ["a"]),
        ("eve", "link", []),
    ]
    rows, counts = collected(social_subscriptions(frame(rows_in, TAGGED)))
    assert [(user, tags) for _, _, user, tags in rows] == [
        ("ann", ("a", "b", "c")),
        ("bob", ("a", "b", "c")),
        ("cid", ("a",)),
    ]
    assert (counts.read, counts.kept) == (5, 3)


def test_followers_subscribe_to_the_tags_of_their_authors_links(frame):
    rows_in = [("ann", "link", ["a", "b"]), ("bob", "link", ["c"]), ("bob", "mine", ["d"])]
    follow = [("f", "ann"), ("f", "bob"), ("g", "bob"), ("h", "nobody")]
    rows, counts = collected(social_subscriptions(frame(rows_in, TAGGED), frame(follow, FOLLOWS)))
    assert [(user, tags) for _, _, user, tags in rows] == [
        ("f", ("a", "b", "c")), ("f", ("d",)), ("g", ("a", "b", "c")), ("g", ("d",)),
    ]  # fmt: skip
    assert (counts.users, counts.derived) == (2, 4)


@pytest.mark.parametrize("partitions", [1, 7])
@pytest.mark.parametrize("followed", [False, True])
def test_tweets_become_subscriptions_in_any_partitioning(frame, partitions, followed):
    cleaning = Cleaning()
    who = [*follows()] if followed else None
    graph = frame(who, FOLLOWS, partitions) if followed else None
    found = social_subscriptions(frame(tweets(), TAGGED, partitions), graph, cleaning)
    assert collected(found) == oracle(tweets(), who, cleaning)


@pytest.mark.parametrize(("rows_in", "kept"), [([], 0), ([("ann", "link", ["a"])], 1), ([("ann", None, ["a"])], 0)])
@pytest.mark.parametrize("followed", [False, True])
def test_tweets_without_followers_or_links_are_counted_but_give_nothing(frame, rows_in, kept, followed):
    """Spark removes what has no rows from a running query, and what it has counted with it."""
    graph = frame([] if kept else follows(), FOLLOWS) if followed else None
    rows, counts = collected(social_subscriptions(frame(rows_in, TAGGED), graph))
    derived = kept if graph is None else 0
    assert (len(rows), counts.derived) == (derived, derived)
    assert (counts.read, counts.tags_read, counts.kept) == (len(rows_in), len(rows_in), kept)
