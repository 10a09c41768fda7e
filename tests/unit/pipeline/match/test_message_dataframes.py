"""Options of messages that are refused or understood without Spark."""

from types import SimpleNamespace

import pytest
from pyspark.sql.types import LongType, StringType, StructType

from cbnet.errors import InputError
from cbnet.pipeline.match import match_stream
from cbnet.pipeline.match.match_stream import MatchStream, StreamJob
from cbnet.pipeline.match.message_dataframes import MessageFormat, _is_document, message_schema


@pytest.mark.parametrize("name", ["multiLine", "multiline", "MULTILINE"])
def test_names_of_options_have_no_case(name):
    assert _is_document(MessageFormat(format="json", options={name: "True"}))


@pytest.mark.parametrize(
    ("options", "problem"),
    [({"Mode": "DropMalformed"}, "use --on-error drop"), ({"encoding": "UTF-16"}, "JSON Lines must be UTF-8")],
)
def test_options_that_lines_cannot_have_are_refused_before_files_are_read(options, problem):
    with pytest.raises(InputError, match=problem):
        message_schema(None, ["m.json"], MessageFormat(format="json", options=options))


def test_stream_of_json_continues_with_a_schema_stated_in_0_2(tmp_path, monkeypatch):
    """Which has a column for unreadable lines."""
    monkeypatch.setattr(match_stream, "require_classic", lambda *_: None)
    stated = StructType().add("id", LongType())
    monkeypatch.setattr(match_stream, "message_schema", lambda *_: stated)
    spark = SimpleNamespace(sparkContext=SimpleNamespace(master="local"))
    job = StreamJob(messages=str(tmp_path), format="json", schema="id bigint", tables=["t.cbt"])
    stream = MatchStream(spark, job, str(tmp_path))
    stream._check_columns(StructType().add("id", LongType()).add("_corrupt_record", StringType()))
    with pytest.raises(InputError, match="started with another schema"):
        stream._check_columns(StructType().add("id", StringType()))
