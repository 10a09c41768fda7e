"""The network that is attacked: a ring of four router processes with TLS, tokens, signed records, journals and HTTP.

All limits are the default ones. The attacked router keeps a history of messages that no honest client publishes.

a ──── b       the prober publishes at a, subscribes at b, and pings both
│      │
d ──── c       x, a router that may link, does not run: an attack may use its name
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import psutil

from cbnet.network import ProcessNetwork, Settings, Tls
from cbnet.network.link.counters import Event
from cbnet.network.protocol.addresses import Address
from cbnet.network.security.record_signatures import new_key_pair
from cbnet.network.security.tokens import new_token
from cbnet_lab.bench.network.throughput import statuses_of
from cbnet_lab.bench.router.router_client import ClientAccess
from cbnet_lab.bench.router.servers import Certificate, new_certificate
from cbnet_lab.faults.driver.router_output import RouterOutput

ROUTERS: Final = "abcd"
ATTACKED: Final = "a"  # where the prober publishes, too
PROBED: Final = ("a", "b")
OUTSIDER: Final = "x"
_ORDINARY: Final[Mapping[str, Any]] = {"publish": "true", "subscribe": "true"}
_ACCOUNTS: Final[Mapping[str, Mapping[str, Any]]] = {  # rights of each account, besides those of attackers
    "prober": _ORDINARY,
    "victim": _ORDINARY,
    "watcher": {**_ORDINARY, "watch": True},
    "operator": {**_ORDINARY, "watch": True, "manage": True},
}
HISTORY: Final = "replayed = 1"  # of the attacked router
_START: Final = 60.0  # timeout for the routers to start, in seconds


class AttackedRing(NamedTuple):
    """What an attacker knows of the ring."""

    ports: dict[str, int]  # by router
    http: dict[str, Address]  # by router
    certificate: Certificate  # of all routers, and the authority that signed it
    tokens: dict[str, str]  # by account

    def access(self, account: str, router: str = ATTACKED) -> ClientAccess:
        """Return what a client of an account needs to link to a router."""
        return ClientAccess(self.ports[router], self.certificate.file, self.tokens[account])


class SecureRing(ExitStack):
    """The running ring; ends with the `with` block."""

    def __init__(self, attackers: Iterable[str]) -> None:
        """Start the routers; attackers: names of further accounts, which are ordinary."""
        super().__init__()
        folder = Path(self.enter_context(TemporaryDirectory(prefix="cbnet-attacks-")))
        certificate = new_certificate(folder, [*ROUTERS, OUTSIDER])
        rights = {**_ACCOUNTS, **dict.fromkeys(attackers, _ORDINARY)}
        tokens = {name: new_token(name) for name in rights}
        accounts = {name: {"token": tokens[name].hash, **each} for name, each in rights.items()}
        policy = {
            "certificate": certificate.file, "key": certificate.key, "authority": certificate.file,
            "routers": (*ROUTERS, OUTSIDER), "clients": accounts,
        }  # fmt: skip
        keys = {name: new_key_pair(name) for name in ROUTERS}
        for name, pair in keys.items():
            (folder / f"{name}.key").write_text(pair.private)
        public = {name: pair.public for name, pair in keys.items()}
        self.output = self.enter_context(RouterOutput(is_shown=False))
        self.network = ProcessNetwork(
            [Settings(name, history=HISTORY if name == ATTACKED else None) for name in ROUTERS],
            [*zip(ROUTERS, ROUTERS[1:] + ROUTERS[0], strict=True)],
            journals=folder / "journals",
            http=True,
            security={
                name: {**policy, "signing_key": str(folder / f"{name}.key"), "public_keys": public} for name in ROUTERS
            },
            stderr=self.output.file,
        )  # fmt: skip
        self.enter_context(self.network)
        ports = {name: address.port for name, address in self.network.addresses.items()}
        self.target = AttackedRing(
            ports, self.network.http_addresses, certificate, {name: each.token for name, each in tokens.items()}
        )
        self.wait()

    def wait(self) -> None:
        """Wait until every running router knows all others."""
        self.network.wait(_START, tls=self._tls, token=self.target.tokens["operator"])

    def memory_mb(self) -> dict[str, float]:
        """Return the memory of each running router."""
        found = {}
        for name, pid in [*self.network.pids.items()]:
            try:
                found[name] = psutil.Process(pid).memory_info().rss / 1e6
            except psutil.NoSuchProcess:
                continue
        return found

    def dead_links(self) -> Counter[tuple[str, int]]:
        """Return the number of links closed since a neighbour was silent, by router and incarnation."""
        found = statuses_of(self.network, _START, tls=self._tls, token=self.target.tokens["operator"])
        dead = {(name, each.incarnation): each.counters.get(Event.LINKS_DEAD, 0) for name, each in found.items()}
        return Counter(dead)

    @property
    def probed(self) -> Sequence[ClientAccess]:
        """The routers of the prober."""
        return [self.target.access("prober", router) for router in PROBED]

    @property
    def _tls(self) -> Tls:
        return Tls(self.target.certificate.file)
