"""Lines of a log: one for each event, which nobody can forge, and not too many."""

import io
import json
import logging

import pytest

from cbnet.network.logs import JsonLines, Limit, Text, log


def record(event, created=0.0, **members):
    made = logging.LogRecord("cbnet.network", logging.INFO, "", 0, event, (), None)
    made.created = created
    made.members = members
    return made


def test_a_line_for_people():
    line = Text().format(record("link up", 1_700_000_000.25, name="b", count=3, is_known=True, reason="gone away"))
    # 1,700,000,000 s after 1970 is 14 November 2023, 22:13:20
    expected = '2023-11-14T22:13:20.250Z info    link up        name=b count=3 is_known=true reason="gone away"'
    assert line == expected


def test_a_line_for_programs():
    row = json.loads(JsonLines("a").format(record("link up", 1_700_000_000.25, name="é", count=3)))
    assert row == {
        "time": "2023-11-14T22:13:20.250Z", "level": "info", "router": "a", "event": "link up", "name": "é", "count": 3
    }  # fmt: skip


@pytest.mark.parametrize("name", ["a\nforged", 'x" y="1', "a=b", "\x1b[31m", "\u2028", ""])
def test_a_name_that_others_chose_forges_no_line_and_no_member(name):
    for formatter in (Text(), JsonLines("a")):
        line = formatter.format(record("link up", name=name, last=1))
        assert len(line.splitlines()) == 1
        assert "\x1b" not in line
    assert Text().format(record("x", name=name)).endswith(f"name={json.dumps(name)}")


def test_what_libraries_log_is_a_remark_with_its_error():
    stream = io.StringIO()
    logger = logging.Logger("library")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines("a"))
    logger.addHandler(handler)
    try:
        raise ValueError("no\ngood")
    except ValueError:
        logger.exception("task %d failed", 7)
    (line,) = stream.getvalue().splitlines()
    row = json.loads(line)
    assert (row["event"], row["text"]) == ("remark", "task 7 failed")
    assert row["error"].endswith("ValueError: no\ngood")


def test_of_many_events_in_a_second_some_are_written_and_the_next_says_how_many_were_not():
    limit = Limit()
    assert sum(limit.filter(record("refused", 10 + n / 1000)) for n in range(500)) == 20
    assert limit.filter(record("link up", 10.9))  # another one
    later = record("refused", 11.5)
    assert limit.filter(later)
    assert later.members == {"left_out": 480}
    after = record("refused", 13)
    assert limit.filter(after)
    assert after.members == {}


def test_libraries_are_limited_whatever_they_say():
    limit = Limit()
    remarks = [logging.LogRecord("library", logging.ERROR, "", 0, f"text {n}", (), None) for n in range(100)]
    for each in remarks:
        each.created = 5.0
    assert sum(map(limit.filter, remarks)) == 20
    assert len(limit._passed) == 1


def test_a_program_that_uses_cbnet_sees_nothing_unless_it_wants(capfd):
    log(logging.WARNING, "dropped", reason="x")
    assert capfd.readouterr() == ("", "")
