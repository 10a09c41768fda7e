import random

import pytest

from cbnet.pipeline.derive.applications import video_offers, web_subscriptions
from cbnet.pipeline.derive.cleaning import NO_CLEANING, Cleaning, clean_tag
from cbnet.pipeline.derive.derivation import DerivationCounts
from cbnet.pipeline.schemas import DESCRIPTORS, TAGGED


def bookmarks(count=200, seed=1):
    """Make bookmarks: one user has half of them, one tag is in half of them, some have no tags, many sets are equal."""
    rng = random.Random(seed)
    for number in range(count):
        user = "heavy" if rng.random() < 0.5 else f"u{rng.randrange(20)}"
        tags = [rng.choice(["Apple", "apples", "Été", "run", "running", "x"]) for _ in range(rng.randrange(3))]
        yield user, f"i{number}", tags + (["everywhere"] if rng.random() < 0.5 else [])
    yield from [("silent", "i", []), ("silent", "j", ["stop"]), ("Ünal", None, ["b", "a"])]


def oracle(rows, cleaning, app, role, names):
    """Derive in plain Python: one set a row, equal ones of a user once."""
    rows = [*rows]
    sets = [(user, tuple(sorted({clean_tag(tag, cleaning) for tag in tags} - {""}))) for user, _, tags in rows]
    kept = [(user, tags) for user, tags in sets if tags]
    found = sorted(set(kept) if cleaning.duplicates else kept)
    counts = DerivationCounts(
        *names,
        read=len(rows),
        users_read=len({user for user, _, _ in rows}),
        tags_read=sum(len(tags) for _, _, tags in rows),
        kept=len(kept),
        derived=len(found),
        users=len({user for user, _ in found}),
        tags=sum(len(tags) for _, tags in found),
    )
    return [(app, role, user, tags) for user, tags in found], counts


def collected(found):
    rows = [(app, role, user, tuple(tags)) for app, role, user, tags in found.descriptors.collect()]
    return sorted(rows), found.counts()


@pytest.mark.parametrize("partitions", [1, 7])
def test_bookmarks_become_subscriptions_in_any_partitioning(frame, partitions):
    cleaning = Cleaning(stop=("stop",))
    expected = oracle(bookmarks(), cleaning, "web", "subscription", ("web", "bookmarks", "subscriptions"))
    found = web_subscriptions(frame(bookmarks(), TAGGED, partitions), cleaning)
    assert found.descriptors.schema.names == DESCRIPTORS.names
    assert collected(found) == expected
    assert expected[1].users == expected[1].users_read - 1  # "silent" has no tags that say something


@pytest.mark.parametrize("cleaning", [NO_CLEANING, Cleaning(duplicates=False)], ids=["none", "duplicates kept"])
def test_disabled_cleaning_steps_are_skipped(frame, cleaning):
    expected = oracle(bookmarks(), cleaning, "video", "offer", ("video", "videos", "offers"))
    assert collected(video_offers(frame(bookmarks(), TAGGED), cleaning)) == expected


def test_empty_input_gives_no_descriptors(frame):
    rows, counts = collected(video_offers(frame([], TAGGED, 1)))
    assert (rows, counts) == ([], DerivationCounts("video", "videos", "offers", 0, 0, 0, 0, 0, 0, 0))


def test_rows_without_a_user_belong_to_one_user(frame):
    rows, counts = collected(video_offers(frame([(None, "i", ["a"]), (None, "j", ["a"]), (None, "k", ["b"])], TAGGED)))
    assert rows == [("video", "offer", None, ("a",)), ("video", "offer", None, ("b",))]
    assert (counts.users, counts.derived) == (1, 2)


def test_counts_before_an_action_take_a_query_of_their_own(frame):
    names = ("web", "bookmarks", "subscriptions")
    expected = oracle(bookmarks(), Cleaning(), "web", "subscription", names)
    assert web_subscriptions(frame(bookmarks(), TAGGED)).counts() == expected[1]
