"""Addresses of the routers of a network that runs on this machine: `running.toml`.

network = "cbnet"

[routers]
0 = "127.0.0.1:20117"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cbnet.errors import InputError
from cbnet.files import read_toml, toml, toml_key
from cbnet.network.protocol.addresses import Address, parse_address

NAME = "running.toml"


@dataclass(frozen=True)
class NetworkAddresses:
    """The name of a running network, and the addresses of its routers."""

    network: str
    routers: Mapping[str, Address]

    def write(self, folder: Path) -> Path:
        """Write the file into a folder, which is created if necessary; return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        lines = [f"network = {toml(self.network)}", "", "[routers]"]
        lines += [f"{toml_key(name)} = {toml(str(address))}" for name, address in self.routers.items()]
        path = folder / NAME
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    @classmethod
    def read(cls, folder: Path) -> NetworkAddresses:
        """Read the file of a folder."""
        path = folder / NAME
        if not path.exists():
            raise InputError(
                "no running network in this folder", hint="start one with `cbnet up -o FOLDER`", file=str(folder)
            )
        table = read_toml(path)
        routers = table.get("routers")
        if not isinstance(routers, dict) or not isinstance(table.get("network"), str):
            raise InputError("this file was not written by `cbnet up`", file=str(path))
        return cls(table["network"], {name: parse_address(str(text)) for name, text in routers.items()})

    def select(self, router: str | None) -> dict[str, Address]:
        """Return the addresses of some routers, with commas between their names, or of all."""
        if router is None:
            return dict(self.routers)
        names = [router] if router in self.routers else router.split(",")
        unknown = [name for name in names if name not in self.routers]
        if unknown:
            raise InputError(f"no router {unknown[0]!r} in this network", hint="use one of " + ", ".join(self.routers))
        return {name: self.routers[name] for name in names}
