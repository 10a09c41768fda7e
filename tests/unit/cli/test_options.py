"""Shared options: one name for one thing."""

import io
import sys

import pytest

from cbnet.cli.network.connection_options import ConnectionOptions, NetworkAddresses
from cbnet.cli.options import confirm, text_or_file
from cbnet.errors import InputError
from cbnet.network.protocol.addresses import Address


@pytest.mark.parametrize("command", [[], ["sub"], ["bench", "network"], ["lab", "simulate"], ["spark", "match"]])
def test_flags_have_no_type_in_the_help(cbnet, command):
    assert "<bool>" not in cbnet(*command, "--help").out


@pytest.mark.parametrize("command", ["top", "sub", "pub", "trace", "offer", "request"])
def test_every_connection_option_has_a_variable(cbnet, command):
    help_text = cbnet(command, "--help").out
    for name in ("ROUTER", "NETWORK", "AUTHORITY", "CERTIFICATE", "KEY", "TOKEN"):
        assert f"CBNET_{name}" in help_text


def test_a_value_with_an_at_sign_is_read_from_a_file(tmp_path):
    (tmp_path / "seat").write_bytes(b"\xff7A")
    assert text_or_file("--payload", f"@{tmp_path / 'seat'}") == b"\xff7A"
    assert text_or_file("--payload", "@@home") == b"@home"
    assert text_or_file("--payload", "a@b") == b"a@b"
    with pytest.raises(InputError, match="write --payload @@none"):
        text_or_file("--payload", "@none")


def test_a_network_is_a_folder_or_a_name(tmp_path, monkeypatch):
    addresses = {"a": Address("127.0.0.1", 1), "b": Address("127.0.0.1", 2)}
    NetworkAddresses("north", addresses).write(tmp_path / "here")
    monkeypatch.chdir(tmp_path)
    assert ConnectionOptions(network="here").routers() == (addresses, "north")
    assert ConnectionOptions(network="here", router="b").routers() == ({"b": addresses["b"]}, "north")
    named = ConnectionOptions(network="south", router="127.0.0.1:3").routers()
    assert named == ({"127.0.0.1:3": Address("127.0.0.1", 3)}, "south")
    assert ConnectionOptions().routers() == ({"127.0.0.1:4001": Address("127.0.0.1", 4001)}, "cbnet")
    with pytest.raises(InputError, match="no running network in this folder"):
        ConnectionOptions(network="./there").routers()


def test_a_folder_is_preferred_to_the_router_of_the_environment(tmp_path, monkeypatch):
    addresses = {"a": Address("127.0.0.1", 1)}
    NetworkAddresses("cbnet", addresses).write(tmp_path)
    monkeypatch.setenv("CBNET_ROUTER", "127.0.0.1:9")
    assert ConnectionOptions(network=str(tmp_path), router="127.0.0.1:9").routers() == (addresses, "cbnet")


def test_a_change_is_confirmed_by_its_exact_name_as_an_option_or_when_asked(monkeypatch, capsys):
    confirm("a", "a will change", ["b", "a"])
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys, "stdin", io.StringIO("a\n"))
    confirm("a", "a\x1b[2J\nwill change", None)
    assert capsys.readouterr() == ("", "a\\x1b[2J\\nwill change\ntype the name a to confirm:\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    for confirmed in (["A"], ["a "], None):
        with pytest.raises(InputError, match="not confirmed, so 'my a' was not changed; confirm with --confirm 'my a'"):
            confirm("my a", "my a will change", confirmed)
