"""Domains in memory, and the same routers as one flat network, for comparison."""

from cbnet.network import MemoryClient, MemoryNetwork, Settings
from cbnet.network.simulation.memory_gateway import MemoryGateway

CONVERGENCE = 9.0  # seconds, plus 3 per domain


class Domains:
    """Networks with gateways between them; a client at each router.

    domains: "a1-a2 a2-a3; b1-b2", the cables of each domain, or a single name. gateways: {"g": "a1 b2"}, the routers that
    each is cabled to; their first letters name its domains.
    """

    def __init__(self, domains, gateways, *, seed=0, schemes=("multitree",), outside="all"):
        self.memory = MemoryNetwork(seed)
        self.outside = outside
        self.domains = [part.split() for part in domains.split(";")]
        names = [sorted({name for cable in part for name in cable.split("-")}) for part in self.domains]
        self.routers = [name for part in names for name in part]
        self.scheme = {part[0][0]: schemes[number % len(schemes)] for number, part in enumerate(names)}
        for name in self.routers:
            self.memory.add(Settings(name, network=name[0], scheme=self.scheme[name[0]]))
        for part in self.domains:
            for cable in part:
                if "-" in cable:
                    self.memory.add_cable(*cable.split("-"))
        self.gateways = {name: self._gateway(name, routers.split()) for name, routers in gateways.items()}
        self.clients = {name: MemoryClient(self.memory, f"at {name}", name) for name in self.routers}
        self.got = {}

    def _gateway(self, name, at):
        sides = sorted({router[0] for router in at})
        settings = [Settings(f"{name}@{side}", network=side, scheme=self.scheme[side]) for side in sides]
        gateway = MemoryGateway(self.memory, name, settings, self.outside)
        for router in at:
            self.memory.add_cable(router, f"{name}@{router[0]}")
        return gateway

    def settle(self, domains=None):
        self.memory.run(CONVERGENCE + 3 * (domains or len(self.domains)))

    def deliveries(self, message, tags=()):
        """Publish a message at every router; return the deliveries: source, router, subscription."""
        for client in self.clients.values():
            client.deliveries.clear()
        for name, client in self.clients.items():
            if self.memory.hosts[name].router is not None:
                client.publish(message, name.encode(), tags)
        self.memory.run(3 + 2 * len(self.domains))
        return sorted(
            (each.payload.decode(), name, each.subscription)
            for name, client in self.clients.items()
            for each in client.deliveries
        )

    def filters(self):
        """Return the number of filters that each router holds."""
        return {
            name: len(host.router.fib.aggregation) + len(host.router.offer_fib.aggregation)
            for name, host in self.memory.hosts.items()
            if host.router is not None
        }


def flat(domains, gateways, *, seed=0, scheme="multitree"):
    """Return the same routers as one network in one domain, with each gateway as a router."""
    cables = [cable for part in domains.split(";") for cable in part.split()]
    cables += [f"{router}-{name}" for name, routers in gateways.items() for router in routers.split()]
    network = Domains("x", {}, seed=seed)  # still empty
    network.memory = MemoryNetwork(seed)
    names = sorted({name for cable in cables for name in cable.split("-")})
    for name in names:
        network.memory.add(Settings(name, scheme=scheme))
    for cable in cables:
        if "-" in cable:
            network.memory.add_cable(*cable.split("-"))
    network.clients = {name: MemoryClient(network.memory, f"at {name}", name) for name in names if name not in gateways}
    return network
