"""A router in memory with accounts and a journal."""

from support.memory_networks import hello

from cbnet.network.link.settings import Settings
from cbnet.network.router.router import Router
from cbnet.network.security.access import Access, Account
from cbnet.network.security.tokens import new_token
from cbnet.network.simulation.memory_disk import MemoryDisk
from cbnet.network.simulation.memory_network import MemoryNetwork


class GuardedRouter:
    """A router whose clients have accounts; the links of these are 1, 2, …, in the order of their rights."""

    def __init__(self, rights, **settings):
        self.memory = MemoryNetwork()
        self._settings = Settings("a", **settings)
        self._tokens = {name: new_token(name) for name in rights}
        self._access = self._accounts(rights)
        self._disk = MemoryDisk(self.memory)
        self.holds_replays = False  # until the test calls `replay`
        self.start()
        for link, name in enumerate(rights, 1):
            self.connect(link, name)

    def start(self):
        """Start the router, or start it again with what is on disk; clients must connect again."""
        self.router = Router(self._settings, 7, self._access, journal=self._disk.start(self._journalled))

    def _journalled(self, event):
        self.done += self.router.journalled(event, self.memory.now)
        while not self.holds_replays and (payers := self.router.replaying):
            self.done += [action for payer in payers for action in self.replay(payer)]

    def replay(self, payer):
        """Let a payer's replays advance; return what the router does then."""
        return self.router.replay(payer, self.memory.now)

    def connect(self, link, name):
        """Connect a client."""
        self.router.opened(link, self.memory.now)
        own = hello("client", name, incarnation=0, link=0, scheme="")
        own.token = self._tokens[name].token
        self.say(link, own)

    def say(self, link, *frames):
        """Receive frames from a client; return what the router does then."""
        self.done = []
        for frame in frames:
            self.done += self.router.received(link, frame, self.memory.now)
        self.memory.run(0.1)
        self.done += self.router.tick(self.memory.now)
        return self.done

    def change(self, rights):
        """Give the accounts other rights; return what the router does then."""
        self._access = self._accounts(rights)
        return self.router.reload(self._settings, self._access, self.memory.now)

    def _accounts(self, rights):
        return Access(clients={name: Account(each, self._tokens[name].hash) for name, each in rights.items()})
