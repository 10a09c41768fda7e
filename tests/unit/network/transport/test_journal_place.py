"""Places of journals."""

from pathlib import Path

import pytest

from cbnet.network.transport.journals.journal_place import DatabaseUri, journal_place, without_passwords


def test_a_place_is_a_folder_or_a_database():
    assert journal_place("journal") == Path("journal")
    assert journal_place("postgresql://h/db") == DatabaseUri("postgresql://h/db")
    assert journal_place("postgres:///db?host=/tmp") == DatabaseUri("postgres:///db?host=/tmp")


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("postgresql://ann@h:1,g:2/db", "postgresql://ann@h:1,g:2/db"),
        ("postgresql://ann:se:cr@et?#@h/db", "postgresql://ann:***@h/db"),
        ("postgresql:///db?user=ann&password=secret&sslpassword=x", "postgresql:///db?user=ann&password=***&sslpassword=***"),
        ("folder:with@sign", "folder:with@sign"),
    ],
)  # fmt: skip
def test_passwords_are_not_shown(uri, shown):
    assert without_passwords(uri) == shown
    assert str(DatabaseUri(uri)) == shown
