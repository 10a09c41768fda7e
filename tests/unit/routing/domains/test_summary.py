import pytest

from cbnet.language import parse
from cbnet.routing.domains.summary import summary

WANTED = parse("x > 3 and #a or y = 1 and x = 2 and x < 9")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("exact", "x > 3 and #a or y = 1 and x = 2 and x < 9"), ("names", "exists x and #a or exists x and exists y"),
     ("all", "true")],
)  # fmt: skip
def test_summaries_have_the_documented_forms(name, expected):
    assert summary(name)(WANTED) == parse(expected)
    assert summary(name)(parse("false")) == parse("false")
