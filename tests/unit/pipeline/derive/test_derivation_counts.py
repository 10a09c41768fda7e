from cbnet.pipeline.derive.derivation_counts import PAPER, DerivationCounts, side_by_side
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


def test_counts_are_printed_side_by_side():
    ours = DerivationCounts(
        "video", "videos", "offers", read=4, users_read=2, tags_read=10, kept=3, derived=3, users=2, tags=6
    )
    assert side_by_side(ours).splitlines() == [
        "video: videos to offers     here  [2014]",
        "videos read                    4  10,351",
        "  of users                     2     782",
        "  tags of each              2.50       –",
        "videos kept                    3       –",
        "  share of the videos      75.0%       –",
        "offers derived                 3       –",
        "  of users                     2       –",
        "  share of the users      100.0%       –",
        "  for each user             1.50       –",
        "  for each of the videos    0.75       –",
        "  tags of each              2.00       –",
    ]


def test_zero_counts_have_no_ratios():
    nothing = DerivationCounts(
        "video", "videos", "offers", read=0, users_read=0, tags_read=0, kept=0, derived=0, users=0, tags=0
    )
    assert [number for _, number in nothing.rows() if number is not None] == [0] * 5
