from cbnet.pipeline.derive.derivation import PAPER, DerivationCounts
from cbnet.pipeline.schemas import APPS


def test_paper_counts_cover_every_application():
    assert sorted(PAPER) == sorted(APPS)


def test_paper_ratios_equal_those_of_its_text():
    # 123,248,896 of 132 million are 93 %, and 134 for each of 922,651 users; 59,185 of 100,649 blogs are 59 %.
    web, blog = dict(PAPER["web"].rows()), dict(PAPER["blog"].rows())
    assert round(web["  for each of the bookmarks"], 2) == 0.93
    assert round(web["  for each user"]) == 134
    assert round(blog["  share of the users"], 2) == 0.59
    assert round(blog["  share of the posts"], 3) == 0.055


def test_zero_counts_have_no_ratios():
    nothing = DerivationCounts(
        "video", "videos", "offers", read=0, users_read=0, tags_read=0, kept=0, derived=0, users=0, tags=0
    )
    assert [number for _, number in nothing.rows() if number is not None] == [0] * 5
