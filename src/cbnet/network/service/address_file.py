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
    """A network that runs."""

    network: str
    routers: Mapping[str, Address]

    def write(self, folder: Path) -> Path:
        """Write the file into a folder, which is made if it is not there; return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        lines = [f"network = {toml(self.network)}", "", "[routers]"]
        lines += [f"{toml_key(name)} = {toml(str(where))}" for name, where in self.routers.items()]
        path = folder / NAME
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    @classmethod
    def read(cls, folder: Path) -> NetworkAddresses:
        """Read the file of a folder."""
        path = folder / NAME
        if not path.exists():
            raise InputError(
                "no network runs from this folder", hint="start one with `cbnet up --out`", file=str(folder)
            )
        said = read_toml(path)
        routers = said.get("routers")
        if not isinstance(routers, dict) or not isinstance(said.get("network"), str):
            raise InputError("this is not what `cbnet up` writes", file=str(path))
        return cls(said["network"], {name: parse_address(str(where)) for name, where in routers.items()})

    def select(self, router: str | None) -> dict[str, Address]:
        """Return where one router is, or all are."""
        if router is None:
            return dict(self.routers)
        if router not in self.routers:
            raise InputError(f"there is no router {router!r}", hint="use one of " + ", ".join(self.routers))
        return {router: self.routers[router]}
