"""Settings of a router's process."""

import pytest

from cbnet import InputError
from cbnet.network.protocol.addresses import Address
from cbnet.network.service.process_settings import DEFAULTS, ProcessSettings, process_settings_from


def test_http_is_off_by_default():
    assert process_settings_from(DEFAULTS) == ProcessSettings(None, "text", "info", 5.0)


def test_http_address_of_other_machines_needs_consent():
    local, remote = Address("127.0.0.1", 9090), Address("0.0.0.0", 9090)
    assert process_settings_from({**DEFAULTS, "http": str(local)}).http == local
    with pytest.raises(InputError, match="other machines can reach"):
        process_settings_from({**DEFAULTS, "http": str(remote)})
    with pytest.raises(InputError, match="other machines can reach"):
        process_settings_from({**DEFAULTS, "http": str(remote), "http_insecure": "yes"})
    words = "anybody may read the metrics"
    assert process_settings_from({**DEFAULTS, "http": str(remote), "http_insecure": words}).http == remote


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("http", "nowhere", "is not an address"),
        ("log", "xml", "unknown log 'xml'; use one of text, json"),
        ("log_level", "loud", "unknown log_level 'loud'; use one of debug"),
        ("drain", -1.0, "invalid drain time -1 s; use 0 to 3,600"),
        ("drain", float("nan"), "invalid drain time"),
    ],
)
def test_invalid_value_is_an_input_error(key, value, problem):
    with pytest.raises(InputError, match=problem):
        process_settings_from({**DEFAULTS, key: value})
