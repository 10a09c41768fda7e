import pytest

from cbnet import InputError
from cbnet.network.protocol.addresses import Address, parse_address


@pytest.mark.parametrize(
    ("text", "host", "port", "is_loopback"),
    [
        ("127.0.0.1:4001", "127.0.0.1", 4001, True),
        ("127.8.9.10:0", "127.8.9.10", 0, True),
        ("localhost:65535", "localhost", 65535, True),
        ("[::1]:4001", "::1", 4001, True),
        ("0.0.0.0:4001", "0.0.0.0", 4001, False),
        ("10.0.0.1:4001", "10.0.0.1", 4001, False),
        ("localhost.example.org:1", "localhost.example.org", 1, False),
    ],
)
def test_an_address_is_a_host_and_a_port(text, host, port, is_loopback):
    assert parse_address(text) == Address(host, port)
    assert str(parse_address(text)) == text
    assert parse_address(text).is_loopback is is_loopback


@pytest.mark.parametrize("text", ["", "4001", "host", "host:", ":1", "host:port", "host:65536", "host:-1", "host:²"])
def test_invalid_address_is_refused(text):
    with pytest.raises(InputError, match="is not an address"):
        parse_address(text)
