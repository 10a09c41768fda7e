import pytest

from cbnet.errors import InputError
from cbnet.pipeline.ingest.presets import PRESETS
from cbnet.pipeline.ingest.source import Source

TAGGED = {"path": "f", "format": "tagged", "columns": {"user": 1, "tags": 2}}


def test_a_section_fills_a_source():
    source = Source.of({**TAGGED, "path": ["a", "b"], "separator": ";", "most_rejected": 0.5})
    assert source.paths == ["a", "b"]
    assert (source.separator, source.most_rejected, source.wanted) == (";", 0.5, {"user": 1, "tags": 2})


def test_a_section_has_the_last_word_over_its_preset():
    source = Source.of({"preset": "tweets", "path": "t.tsv", "header": False, "columns": {"user": 2, "tags": 1}})
    assert (source.header, source.tag_prefix, source.wanted) == (False, "#", {"user": 2, "tags": 1})


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_needs_only_its_files(name):
    section = {"preset": name, "path": "f"} | ({"vocabulary": "v"} if name == "articles" else {})
    assert Source.of(section).paths == ["f"]


def test_a_table_is_cut_into_the_columns_that_have_types():
    source = Source.of(
        {"path": "f", "format": "table", "header": True, "types": {"a": "int", "b": "int"}, "columns": {"b": 7}}
    )
    assert source.wanted == {"a": "a", "b": 7}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"preset": "bookmark"}, "did you mean 'bookmarks'"),
        ({"preset": 7}, "there is no preset 7; there are bookmarks"),
        ({"format": "nonsense"}, "nonsense"),
        ({"path": []}, "no path"),
        ({"colums": {}}, "unknown field 'colums'"),
        ({"header": "yes"}, "got 'str' - at '$.header'"),
        ({"separator": ""}, "separator is empty"),
        ({"quoted": True, "separator": "::"}, "one character"),
        ({"most_rejected": 1.5}, "from 0 to 1"),
        ({"columns": {"user": 1}}, "no column for tags; write columns = { tags = 1 }"),
        ({"columns": {"tags": 1, "text": 2}}, "tagged has no column 'text'; it has tags, user, item"),
        ({"columns": {"tags": 0}}, "counted from 1"),
        ({"columns": {"tags": "labels"}}, "column 'labels' has a name, and the file has no header"),
        ({"format": "wordcounts", "columns": {}}, "no vocabulary"),
        ({"format": "table", "columns": {}}, "no types"),
    ],
)
def test_a_wrong_section_is_refused_in_one_line(changes, said):
    with pytest.raises(InputError) as caught:
        Source.of({**TAGGED, **changes})
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
