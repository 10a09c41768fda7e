"""Log lines: one per event, not forgeable, and rate-limited."""

import io
import json
import logging
import os
import time

import pytest

from cbnet.errors import InputError
from cbnet.network.logs import (
    AuditLimit,
    BackgroundHandler,
    JsonLines,
    RateLimit,
    Text,
    audit,
    log,
    open_audit_log,
    use_audit_log,
)


def record(event, created=0.0, **members):
    result = logging.LogRecord("cbnet.network", logging.INFO, "", 0, event, (), None)
    result.created = created
    result.members = members
    return result


def test_text_line():
    line = Text().format(record("link up", 1_700_000_000.25, name="b", count=3, is_known=True, reason="gone away"))
    # 1,700,000,000 s after 1970 is 14 November 2023, 22:13:20
    expected = '2023-11-14T22:13:20.250Z info    link up        name=b count=3 is_known=true reason="gone away"'
    assert line == expected


def test_json_line():
    row = json.loads(JsonLines("a").format(record("link up", 1_700_000_000.25, name="é", count=3)))
    assert row == {
        "time": "2023-11-14T22:13:20.250Z", "level": "info", "router": "a", "event": "link up", "name": "é", "count": 3
    }  # fmt: skip


@pytest.mark.parametrize("name", ["a\nforged", 'x" y="1', "a=b", "\x1b[31m", "\u2028", ""])
def test_names_chosen_by_peers_cannot_forge_lines_or_members(name):
    for formatter in (Text(), JsonLines("a")):
        line = formatter.format(record("link up", name=name, last=1))
        assert len(line.splitlines()) == 1
        assert "\x1b" not in line
    assert Text().format(record("x", name=name)).endswith(f"name={json.dumps(name)}")


def test_log_record_of_a_library_includes_its_error():
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
    assert (row["event"], row["text"]) == ("log", "task 7 failed")
    assert row["error"].endswith("ValueError: no\ngood")


def test_events_of_one_name_are_limited_per_second_and_the_rest_counted():
    limit = RateLimit()
    assert sum(limit.filter(record("refused", 10 + n / 1000)) for n in range(500)) == 20
    assert limit.filter(record("link up", 10.9))  # another name
    later = record("refused", 11.5)
    assert limit.filter(later)
    assert later.members == {"suppressed": 480}
    after = record("refused", 13)
    assert limit.filter(after)
    assert after.members == {}


def test_log_records_of_libraries_are_limited_whatever_their_text():
    limit = RateLimit()
    records = [logging.LogRecord("library", logging.ERROR, "", 0, f"text {n}", (), None) for n in range(100)]
    for each in records:
        each.created = 5.0
    assert sum(map(limit.filter, records)) == 20
    assert len(limit._counts) == 1


def test_library_use_logs_nothing_by_default(capfd):
    log(logging.WARNING, "dropped", reason="x")
    assert capfd.readouterr() == ("", "")


def test_an_unread_pipe_does_not_stop_the_logger_and_lost_lines_are_counted():
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream, os.fdopen(reading, "rb") as reader:
        handler = BackgroundHandler(stream)
        handler.setFormatter(JsonLines("a"))
        began = time.monotonic()
        for number in range(20_000):  # some 2 MB; a pipe holds 64 KiB
            handler.emit(record("link up", number=number))
        assert time.monotonic() - began < 10.0  # it has not waited for a reader
        written = [json.loads(reader.readline()) for _ in range(1_000)]  # at least as many as the queue holds
        handler.emit(record("last"))
        while written[-1]["event"] != "last":
            written.append(json.loads(reader.readline()))
        handler.close()
    kept = [row["number"] for row in written if row["event"] == "link up"]
    assert kept == sorted(kept)
    assert sum(row["count"] for row in written if row["event"] == "log lines lost") == 20_000 - len(kept) > 0


def test_the_last_lines_are_written_before_the_end():
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream, os.fdopen(reading, "rb") as reader:
        handler = BackgroundHandler(stream)
        handler.setFormatter(Text())
        handler.emit(record("router stopped"))
        handler.close()
        assert b"router stopped" in reader.readline()


# --- the audit log


def test_refusals_are_appended_to_the_audit_log_in_use(tmp_path):
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    audit("publish", "nobody listens", client="ticker", address="10.0.0.1:5")
    use_audit_log(open_audit_log(str(first), "a"))
    audit("publish", "you may not", client="ticker", address="10.0.0.1:5")
    use_audit_log(open_audit_log(str(second), "a"))
    audit("link", "unknown token", client="", address="10.0.0.2:6")
    use_audit_log(open_audit_log("", "a"))
    audit("link", "not recorded", client="", address="10.0.0.2:6")
    (row,) = [json.loads(line) for line in first.read_text().splitlines()]
    del row["time"]
    assert row == {
        "level": "info", "router": "a", "event": "refused",
        "client": "ticker", "address": "10.0.0.1:5", "operation": "publish", "reason": "you may not",
    }  # fmt: skip
    assert [json.loads(line)["reason"] for line in second.read_text().splitlines()] == ["unknown token"]


def test_audit_log_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(InputError, match="cannot write: Is a directory"):
        open_audit_log(str(tmp_path), "a")


def test_lines_of_one_client_do_not_hide_those_of_another():
    limit = AuditLimit()
    passed = [limit.filter(record("refused", client="loud", address="10.0.0.1:5")) for _ in range(150)]
    assert passed == [True] * 100 + [False] * 50
    assert limit.filter(record("refused", client="quiet", address="10.0.0.1:5"))
    assert all(limit.filter(record("changed", client="loud", address="10.0.0.1:5")) for _ in range(150))
    unknown = [limit.filter(record("refused", client="", address=f"10.0.0.3:{n}")) for n in range(150)]
    assert passed == unknown  # all ports of an address count together
    later = record("refused", 1.0, client="loud", address="10.0.0.1:5")
    assert limit.filter(later)
    assert later.members["suppressed"] == 50
