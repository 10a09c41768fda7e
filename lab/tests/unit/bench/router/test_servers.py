"""Command lines of the measured servers."""

from cbnet_lab.bench.router.servers import SERVERS, Certificate, Options

SECURE = Certificate("/c.pem", "/k.pem")


def command(name, certificate=None, neighbour=None):
    return " ".join(SERVERS[name].setup(Options(4000, certificate, neighbour)).command)


def test_all_listen_on_loopback_only():
    assert "--listen 127.0.0.1:4000" in command("cbnet")
    assert command("nats").endswith("nats-server -a 127.0.0.1 -p 4000")
    assert "--bind 127.0.0.1 --port 4000 " in command("redis")
    assert (
        SERVERS["mosquitto"]
        .setup(Options(4000, None, None))
        .files["server.conf"]
        .startswith("listener 4000 127.0.0.1\n")
    )


def test_a_second_router_dials_the_first():
    assert "--name b --listen 127.0.0.1:4000" in command("cbnet", neighbour=4001)
    assert "--neighbour a=127.0.0.1:4001" in command("cbnet", neighbour=4001)


def test_tls():
    assert "--set certificate=/c.pem --set key=/k.pem --set authority=/c.pem" in command("cbnet", SECURE)
    assert command("nats", SECURE).endswith("--tls --tlscert /c.pem --tlskey /k.pem")
    assert "--port 0 --tls-port 4000 --tls-cert-file /c.pem --tls-key-file /k.pem" in command("redis", SECURE)
    lines = SERVERS["mosquitto"].setup(Options(4000, SECURE, None)).files["server.conf"].splitlines()
    assert {"certfile /c.pem", "keyfile /k.pem"} <= set(lines)
