from cbnet.network.protocol.frames import Hello, Ping, Pong, Subscribe, Subscribed
from cbnet.network.protocol.wire import FrameReader, encode
from cbnet_lab.bench.router.router_client import RouterClient


class SlowRouter:
    """A link to a router that pings the client before it confirms a subscription."""

    def __init__(self):
        self._reader = FrameReader()
        self.received = []

    def begin_tls(self):
        pass

    def ask(self, data):
        self.send(data)
        return encode(self.received[0]) + encode(Pong(1)) if len(self.received) == 2 else encode(Ping(7))

    def receive(self):
        return encode(Subscribed(1, True, 4, []))

    def send(self, data):
        self.received += self._reader.feed(bytes(data))


def test_a_client_answers_the_pings_of_a_router_that_takes_long():
    router = SlowRouter()
    RouterClient(router, "x").subscribe(["a = 1"])
    assert [type(frame) for frame in router.received] == [Hello, Ping, Subscribe, Pong]
    assert router.received[-1] == Pong(7)
