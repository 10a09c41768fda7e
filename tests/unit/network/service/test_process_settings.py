"""Settings of a router's process."""

import pytest

from cbnet import InputError
from cbnet.network.service.process_settings import DEFAULTS, ProcessSettings, process_settings_from


def test_http_is_off_by_default():
    assert process_settings_from(DEFAULTS) == ProcessSettings(None, "text", "info", 5.0)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("http", "nowhere", "is not an address"),
        ("http_origins", ("*",), "http_origins: '\\*' is not an origin; write it as in https://example.org"),
        ("http_connections", 0, "invalid http_connections 0; use 1 or more"),
        ("log", "xml", "unknown log 'xml'; use one of text, json"),
        ("log_level", "loud", "unknown log_level 'loud'; use one of debug"),
        ("drain", -1.0, "invalid drain time -1 s; use 0 to 3,600"),
        ("drain", float("nan"), "invalid drain time"),
    ],
)
def test_invalid_value_is_an_input_error(key, value, problem):
    with pytest.raises(InputError, match=problem):
        process_settings_from({**DEFAULTS, key: value})
