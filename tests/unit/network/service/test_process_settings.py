"""How a router is run is said in words that are checked."""

import pytest

from cbnet import InputError
from cbnet.network.protocol.addresses import Address
from cbnet.network.service.process_settings import DEFAULTS, ProcessSettings, process_settings_from


def test_nothing_is_told_over_http_unless_it_is_said():
    assert process_settings_from(DEFAULTS) == ProcessSettings(None, "text", "info", 5.0)


def test_health_is_told_to_this_machine_and_to_others_only_by_the_words():
    here, there = Address("127.0.0.1", 9090), Address("0.0.0.0", 9090)
    assert process_settings_from({**DEFAULTS, "http": str(here)}).http == here
    with pytest.raises(InputError, match="can be reached from other machines"):
        process_settings_from({**DEFAULTS, "http": str(there)})
    with pytest.raises(InputError, match="can be reached from other machines"):
        process_settings_from({**DEFAULTS, "http": str(there), "http_insecure": "yes"})
    words = "anybody may read the metrics"
    assert process_settings_from({**DEFAULTS, "http": str(there), "http_insecure": words}).http == there


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("http", "nowhere", "is not an address"),
        ("log", "xml", "unknown log 'xml'; use one of text, json"),
        ("log_level", "loud", "unknown log_level 'loud'; use one of debug"),
        ("drain", -1.0, "of drain; use 0 to 3,600"),
        ("drain", float("nan"), "of drain"),
    ],
)
def test_what_means_nothing_is_refused(key, value, problem):
    with pytest.raises(InputError, match=problem):
        process_settings_from({**DEFAULTS, key: value})
