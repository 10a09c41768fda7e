import random
from collections import Counter, defaultdict

import pytest

from cbnet.pipeline.derive.blogs import (
    blog_subscriptions,
    documents_of_counts,
    documents_of_posts,
    subscriptions_to_topics,
)
from cbnet.pipeline.derive.cleaning import Cleaning
from cbnet.pipeline.derive.derivation import DerivationCounts
from cbnet.pipeline.derive.topics import TopicModel, Topics
from cbnet.pipeline.schemas import COUNTS, PAIRS, POSTS

TAGS = [["a", "b"], ["c"], ["d", "e", "f"], []]
ABOUT = "user string, item string, topics array<int>"


def posts(count=120, seed=5):
    """Make posts of up to two topics each; one author writes half of them."""
    rng = random.Random(seed)
    for number in range(count):
        user = "heavy" if rng.random() < 0.5 else f"u{rng.randrange(15)}"
        yield user, f"i{number}", sorted(rng.sample(range(4), rng.randrange(3)))


def oracle(written, posts):
    """Derive in plain Python: topics of more than so many posts of an author."""
    by_author = defaultdict(list)
    for user, topics in written:
        by_author[user].append(topics)
    interests = {
        user: {t for t, n in Counter(t for ts in found for t in ts).items() if n > posts}
        for user, found in by_author.items()
    }
    rows = sorted(
        ("blog", "subscription", user, tuple(TAGS[topic])) for user, topics in interests.items() for topic in topics
    )
    counts = DerivationCounts(
        "blog",
        "posts",
        "subscriptions",
        read=len(written),
        users_read=len(by_author),
        kept=sum(bool(interests[user] & set(topics)) for user, topics in written),
        derived=len(rows),
        users=len({user for _, _, user, _ in rows}),
        tags=sum(len(tags) for *_, tags in rows),
    )
    return rows, counts


def collected(found):
    rows = [(app, role, user, tuple(tags)) for app, role, user, tags in found.descriptors.collect()]
    return sorted(rows), found.counts()


@pytest.mark.parametrize("partitions", [1, 7])
@pytest.mark.parametrize("least", [0, 2])
def test_authors_subscribe_to_topics_of_more_posts_than_the_limit(frame, partitions, least):
    topics = Topics(frame(posts(), ABOUT, partitions), TAGS)
    expected = oracle([(user, about) for user, _, about in posts()], least)
    assert collected(subscriptions_to_topics(topics, None, least)) == expected
    assert expected[1].derived > 0


def test_document_of_several_authors_is_a_post_of_each(frame):
    about = {item: topics for _, item, topics in posts(30)}
    pairs = sorted({(f"u{seed % 5}", f"i{random.Random(seed).randrange(35)}") for seed in range(60)})
    written = [(user, about[item]) for user, item in pairs if item in about]  # some items have no document
    topics = Topics(frame([(None, item, found) for item, found in about.items()], ABOUT), TAGS)
    assert collected(subscriptions_to_topics(topics, frame(pairs, PAIRS), 2)) == oracle(written, 2)


def test_exactly_two_posts_are_not_more_than_two(frame):
    two, three = [("ann", "1", [0]), ("ann", "2", [0])], [("bob", str(n), [1]) for n in range(3)]
    rows, counts = collected(subscriptions_to_topics(Topics(frame(two + three, ABOUT), TAGS), None, 2))
    assert rows == [("blog", "subscription", "bob", ("c",))]
    assert (counts.users_read, counts.read, counts.kept) == (2, 5, 3)


def test_empty_input_gives_no_descriptors(frame):
    rows, counts = collected(subscriptions_to_topics(Topics(frame([], ABOUT), []), None, 2))
    assert (rows, counts.read, counts.derived) == ([], 0, 0)


SEA, SKY = "Waves and fishes, waves and boats", "Clouds with birds; the clouds were raining"
MODEL = TopicModel(topics=2, tags=3, iterations=8, sample=1.0)


def test_posts_become_subscriptions(frame):
    """Two authors with three posts on a theme each, and one with two, which are not enough."""
    texts = [("ann", None, SEA)] * 3 + [("bob", None, SKY)] * 3 + [("cid", None, SEA)] * 2
    rows, counts = collected(blog_subscriptions(documents_of_posts(frame(texts, POSTS), Cleaning()), None, MODEL))
    assert rows == [
        ("blog", "subscription", "ann", ("boat", "fish", "wave")),
        ("blog", "subscription", "bob", ("bird", "cloud", "rain")),
    ]
    assert (counts.read, counts.users_read, counts.kept, counts.users) == (8, 3, 6, 2)


def test_word_counts_with_authors_become_subscriptions(frame):
    counts = [(str(n), ["boats", "boat", "fish", "wave"], [2, 1, 2, 4]) for n in range(3)]
    counts += [(str(n), ["bird", "cloud", "rain"], [2, 4, 3]) for n in range(3, 6)]
    pairs = [(user, str(n)) for n in range(3) for user in ("ann", "bob")] + [("bob", "3"), ("cid", "4")]
    documents = documents_of_counts(frame(counts, COUNTS), Cleaning())
    rows, _ = collected(blog_subscriptions(documents, frame(pairs, PAIRS), MODEL))
    assert rows == [("blog", "subscription", user, ("boat", "fish", "wave")) for user in ("ann", "bob")]
