"""The addresses of a running network, in its folder."""

import pytest

from cbnet import InputError
from cbnet.cli.network.connection_options import NetworkAddresses
from cbnet.network import Address


def test_addresses_are_written_and_read(tmp_path):
    addresses = NetworkAddresses("n", {"a": Address("127.0.0.1", 1), "b c": Address("::1", 2)})
    addresses.write(tmp_path / "new")
    assert NetworkAddresses.read(tmp_path / "new") == addresses
    assert addresses.select("b c") == {"b c": addresses.routers["b c"]}
    assert list(addresses.select("b c,a")) == ["b c", "a"]
    assert [str(address) for address in addresses.select(None).values()] == ["127.0.0.1:1", "[::1]:2"]
    with pytest.raises(InputError, match=r"no router 'z' in this network; use one of a, b c"):
        addresses.select("z")


def test_folder_without_addresses_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no running network in this folder"):
        NetworkAddresses.read(tmp_path)
    (tmp_path / "running.toml").write_text("routers = 5")
    with pytest.raises(InputError, match="this file was not written by `cbnet up`"):
        NetworkAddresses.read(tmp_path)
