"""Core of a router: the links, topology and forwarding tables that all its other parts use.

connections ─► links        link records ─► versions, with their trees
│
fib, offer_fib: interface ─► predicate
"""

from __future__ import annotations

from cbnet.network.forwarding.forwarding_table import Fib
from cbnet.network.forwarding.home_routers import HomeRouters
from cbnet.network.link.context import RouterContext
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.database import Database
from cbnet.network.linkstate.unicast import UnicastForwarder
from cbnet.network.linkstate.versions import Versions
from cbnet.network.security.access import Access


class RouterCore:
    """The tables of one router, and the context that they share."""

    def __init__(self, context: RouterContext, access: Access) -> None:
        self.context = context
        self.links = LinkTable(context, access)
        self.database = Database(context.settings.lifetime)
        self.versions = Versions(context, self.database)
        self.unicast = UnicastForwarder(context, self.versions, self.links)
        self.fib = Fib(context, self.links, self.versions)
        self.offer_fib = Fib(context, self.links, self.versions)  # of requests
        self.home_routers = HomeRouters()
