"""Fixtures that write a text to a file."""

import pytest


def text_file(name):
    """Return a fixture: a function that writes a text to a file of this name, and returns its path."""

    @pytest.fixture
    def file(tmp_path):
        def write(text):
            path = tmp_path / name
            path.write_text(text)
            return path

        return write

    return file
