import pytest

from cbnet.errors import InputError
from cbnet.pipeline.ingest.presets import PRESETS
from cbnet.pipeline.ingest.source import Source

TAGGED = {"path": "f", "format": "tagged", "columns": {"user": 1, "tags": 2}}


def test_section_defines_a_source():
    source = Source.of({**TAGGED, "path": ["a", "b"], "separator": ";", "max_rejected": 0.5})
    assert source.paths == ["a", "b"]
    assert (source.separator, source.max_rejected, source.file_columns) == (";", 0.5, {"user": 1, "tags": 2})


def test_section_overrides_its_preset():
    source = Source.of({"preset": "tweets", "path": "t.tsv", "header": False, "columns": {"user": 2, "tags": 1}})
    assert (source.header, source.tag_prefix, source.file_columns) == (False, "#", {"user": 2, "tags": 1})


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_needs_only_its_files(name):
    section = {"preset": name, "path": "f"} | ({"vocabulary": "v"} if name == "articles" else {})
    assert Source.of(section).paths == ["f"]


def test_table_has_the_columns_with_types():
    source = Source.of(
        {"path": "f", "format": "table", "header": True, "types": {"a": "int", "b": "int"}, "columns": {"b": 7}}
    )
    assert source.file_columns == {"a": "a", "b": 7}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"preset": "bookmark"}, "did you mean 'bookmarks'"),
        ({"preset": 7}, "unknown preset 7; known presets: bookmarks"),
        ({"format": "nonsense"}, "nonsense"),
        ({"path": []}, "no path"),
        ({"colums": {}}, "unknown field 'colums'"),
        ({"header": "yes"}, "got 'str' - at '$.header'"),
        ({"separator": ""}, "separator is empty"),
        ({"quoted": True, "separator": "::"}, "one character"),
        ({"max_rejected": 1.5}, "from 0 to 1"),
        ({"columns": {"user": 1}}, "no column tags; write columns = { tags = 1 }"),
        ({"columns": {"tags": 1, "text": 2}}, "tagged has no column 'text'; it has tags, user, item"),
        ({"columns": {"tags": 0}}, "counted from 1"),
        ({"columns": {"tags": "labels"}}, "column 'labels' is a name, but the file has no header"),
        ({"format": "wordcounts", "columns": {}}, "no vocabulary"),
        ({"format": "table", "columns": {}}, "no types"),
    ],
)
def test_wrong_section_raises_a_one_line_error(changes, problem):
    with pytest.raises(InputError) as caught:
        Source.of({**TAGGED, **changes})
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
