import pytest

from cbnet import disjunction_advantage, reduce, size
from cbnet.errors import InputError


@pytest.mark.parametrize(
    ("text", "full", "pairwise"),
    [
        ("(x > 10 and y = 100) or (y > 0)", "y > 0", "y > 0"),  # [2006 §4.2]
        ("severity > 2 or severity > 3", "severity > 2", "severity > 2"),  # [2006 §2.4]
        ("x > 3 and x > 5", "x > 5", "x > 5"),
        ("x < 3 and x > 5", "false", "x < 3 and x > 5"),
        ("x < 3 and x > 5 or y = 1", "y = 1", "x < 3 and x > 5 or y = 1"),
        # x >= 6 and x <= 6 is x = 6, which implies both others; one by one, <= 6 implies < 7 and >= 6 implies != 5
        ("x >= 6 and x <= 6 and x < 7 and x != 5", "x >= 6 and x <= 6", "x >= 6 and x <= 6"),
        # the two filters are equal, and the smaller is kept; one by one, the bounds cover x = 6, but not the reverse
        ("x >= 6 and x <= 6 or x = 6", "x = 6", "x >= 6 and x <= 6"),
        # one by one, x < 3 is covered by x < 4, though nothing matches the second filter
        ("x < 4 or x < 3 and x > 5", "x < 4", "x < 4"),
        # nothing is below "", so alone it implies all that is asked of s
        ('s = "a" or s < ""', 's = "a"', 's = "a"'),
        ('s $= "a" and y = 1 or s < "" and y = 1', 's $= "a" and y = 1', 's $= "a" and y = 1'),
        ('s < "" or s < "" and y = 1', "false", 's < ""'),
        # both contradict themselves; one by one, the first covers the second
        ("x < 3 and x > 5 or x < 2 and x > 6 and y = 1", "false", "x < 3 and x > 5"),
        ("exists x or x = 1", "exists x", "exists x"),
        ("#a or #a and #b or #b and #c", "#a or #b and #c", "#a or #b and #c"),
        ("true or x = 1", "true", "true"),
        ("false", "false", "false"),
        ('s ^= "ab" and s *= "b" or s ^= "a"', 's ^= "a"', 's ^= "a"'),
        ('s $= "b" and s = "ab"', 's = "ab"', 's = "ab"'),
        ("x != true or x = false", "x != true", "x != true"),
    ],
)
def test_reduction_by_both_rules(text, full, pairwise):
    assert str(reduce(text)) == full
    assert str(reduce(text, "pairwise")) == pairwise


def test_unknown_rules_are_refused():
    with pytest.raises(InputError, match="unknown rules"):
        reduce("x = 1", "magic")


def test_size_counts_constraints_and_tags():
    assert size('alert = "congestion" and severity > 2 or alert = "accident"') == 3  # [2006 §4.2]
    assert size("x = 1 and x = 1 and #a") == 2
    assert size("true") == size("false") == 0


def test_the_disjunction_advantage_is_over_the_original_sizes():
    assert disjunction_advantage(["severity > 2", "severity > 3"]) == 0.5  # [2006 §2.4]
    assert disjunction_advantage(["x = 1", "y = 1"]) == 1
    assert disjunction_advantage(["x > 3 and x > 5 and y = 1", "z = 1"]) == 3 / 4
    assert disjunction_advantage([]) == disjunction_advantage(["true", "false"]) == 1
    assert disjunction_advantage(["x = 1", "true"]) == 0


def test_a_filter_with_many_patterns_that_exclude_each_other_disappears():
    text = " and ".join([f's *= "{char * 5}"' for char in "abcdef"] + ['s $= "p"', 's $= "q"', 's *= "z"'])
    assert str(reduce("y = 1 or " + text)) == "y = 1"


def test_many_substrings_are_covered_by_themselves():
    words = ["error", "timeout", "database", "primary", "retry", "checkout", "payment"]
    text = " and ".join(f's *= "{word}"' for word in words)
    assert str(reduce(f"{text} or {text} and #x")) == text
    assert disjunction_advantage([text, f"{text} and #x"]) == disjunction_advantage(
        [text, f"{text} and #x"], "pairwise"
    )


def test_bounds_together_imply_a_substring():
    assert str(reduce('s >= "ab" and s < "ac" and s *= "b"')) == 's >= "ab" and s < "ac"'
    assert str(reduce('s >= "ab" and s < "ac" and s *= "b"', "pairwise")) == 's >= "ab" and s < "ac" and s *= "b"'


def test_full_reduction_keeps_no_more_than_pairwise():
    assert (
        str(reduce("x = 6 and x >= 6 and x <= 6")) == str(reduce("x = 6 and x >= 6 and x <= 6", "pairwise")) == "x = 6"
    )
