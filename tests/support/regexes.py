"""Random regular expressions, each with one of Python's `re` of the same meaning, and texts."""

from hypothesis import strategies as st

_SAME = [
    "a",
    "b",
    "A",
    "-",
    "é",
    "É",
    "k",
    "\u212a",
    "\U0001f600",
    "\\n",
    ".",
    "[ab]",
    "[^a]",
    "[a-cé]",
    "[^\\n-z]",
    "\\.",
    "[]a]",
    "[a-]",
]
_PAIRS = [
    ("\\d", "[0-9]"), ("\\D", "[^0-9]"), ("\\w", "[0-9A-Za-z_]"), ("\\W", "[^0-9A-Za-z_]"), ("\\s", "[\\t\\n\\f\\r ]"),
    ("[[:alpha:]1]", "[A-Za-z1]"), ("[^[:^digit:]\\w]", "(?!)"), ("\\x{1F600}", "\U0001f600"), ("\\x61", "a"),
]  # fmt: skip
_PLACES = [("^", "\\A"), ("$", "\\Z"), ("\\A", "\\A"), ("\\z", "\\Z"), ("\\b", "(?a:\\b)"), ("\\B", "(?!(?a:\\b))")]
_LINES = [("(?m:^)", "(?m:^)"), ("(?m:$)", "(?m:$)"), ("(?s:.)", "(?s:.)")]
_atoms = st.sampled_from([(text, text) for text in _SAME] * 2 + _PAIRS + _PLACES + _LINES)
_counts = st.sampled_from(["*", "+", "?", "{2}", "{0}", "{1,}", "{0,2}", "*?", "+?", "{1,2}?"])


def _both(form, *parts):
    return tuple(form.format(*side) for side in zip(*parts, strict=True))


def _larger(parts):
    return (
        st.builds(lambda left, right: _both("{}{}", left, right), parts, parts)
        | st.builds(lambda left, right: _both("(?:{}|{})", left, right), parts, parts)
        | st.builds(lambda inner: _both("({})", inner), parts)
        | st.builds(lambda inner: _both("(?i:{})", inner), parts)
        | st.builds(lambda inner, count: tuple(f"(?:{side}){count}" for side in inner), parts, _counts)
    )


patterns = st.recursive(_atoms, _larger, max_leaves=7)
texts = st.text("aabbAk\u212aéÉ-.]0_ \n\U0001f600", max_size=10)
