"""The bytes of AMQP 0-9-1, written by hand from its specification, and a broker that is played here."""

import socket
import threading

import pytest

from cbnet.errors import CbnetError
from cbnet_lab.bench.network import amqp


def test_a_method_is_its_ids_and_arguments_in_a_frame():
    # type 1, channel 1, size 5, class 20, method 10, an empty text, the end
    assert amqp.method(amqp.CHANNEL_OPEN, amqp.short("")) == bytes.fromhex("01 0001 00000005 0014 000a 00 ce")


def test_a_table_is_named_values_of_known_types():
    assert amqp.table({}) == bytes(4)
    assert amqp.table({"a": "b"}) == bytes.fromhex("00000008 01 61 53 00000001 62")
    assert amqp.table({"a": 5}) == bytes.fromhex("0000000b 01 61 6c 0000000000000005")
    assert amqp.table({"a": True}) == bytes.fromhex("00000004 01 61 74 01")
    assert amqp.table({"a": 0.5}) == bytes.fromhex("0000000b 01 61 64 3fe0000000000000")


def test_a_publication_is_three_frames_when_its_payload_follows():
    data = amqp.publication("x", {"a": "b"}, 3) + b"xyz" + b"\xce"
    found = list(amqp.FrameBuffer().feed(data))
    assert [kind for kind, _ in found] == [amqp.METHOD, amqp.PROPERTIES, amqp.BODY]
    assert found[0][1] == bytes.fromhex("003c 0028 0000 01 78 00 00")  # 60, 40; reserved; exchange x; no key; no bits
    # class 60, weight 0, 3 bytes, headers and delivery mode, the table, transient
    assert found[1][1] == bytes.fromhex("003c 0000 0000000000000003 3000 00000008 01 61 53 00000001 62 01")
    assert found[2][1] == b"xyz"


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_frames_may_come_in_any_pieces(size):
    frames = [(1, b"abc"), (2, b""), (3, b"x" * 300)]
    data = b"".join(amqp.frame(kind, 1, payload) for kind, payload in frames)
    buffer = amqp.FrameBuffer()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert [found for piece in pieces for found in buffer.feed(piece)] == frames


def played(answers):
    """Listen, and answer each thing that is said with the next of some bytes; return the port and what was said."""
    listener = socket.create_server(("127.0.0.1", 0))
    said = []

    def play():
        with listener, listener.accept()[0] as connection:
            for answer in answers:
                said.append(connection.recv(1 << 16))
                connection.sendall(answer)
                if not answer:
                    return
            connection.recv(1)

    threading.Thread(target=play, daemon=True).start()
    return listener.getsockname()[1], said


START = amqp.method(amqp.START, bytes(2), channel=0)
TUNE = amqp.method(amqp.TUNE, bytes.fromhex("07ff 00020000 003c"), channel=0)
OPENED = amqp.method(amqp.OPEN_OK, b"\0", channel=0)
CHANNEL = amqp.method(amqp.CHANNEL_OPEN_OK, bytes(4))


def test_a_client_says_hello_and_takes_what_was_delivered():
    deliver = amqp.method((60, 60), b"...") + amqp.frame(amqp.PROPERTIES, 1, b"...") + amqp.frame(amqp.BODY, 1, b"one")
    consuming = amqp.method(amqp.CONSUME_OK, amqp.short("me")) + deliver
    port, said = played([START, TUNE, OPENED, CHANNEL, consuming])
    client = amqp.AmqpClient("127.0.0.1", port)
    client.consume("queue")
    assert client.bodies() == [b"one"]
    client.close()
    assert said[0] == b"AMQP\x00\x00\x09\x01"
    assert b"PLAIN" in said[1]
    assert bytes.fromhex("07ff 00020000 0000") in said[2]  # as the broker says, but without heartbeats


def test_what_a_broker_refuses_is_told():
    why = "NOT_FOUND - no exchange 'x'"
    closing = amqp.method(amqp.CHANNEL_CLOSE, (404).to_bytes(2), amqp.short(why), bytes(4))
    port, _ = played([START, TUNE, OPENED, CHANNEL, closing])
    client = amqp.AmqpClient("127.0.0.1", port)
    with pytest.raises(CbnetError, match=f"the broker refused: {why}$"):
        client.bind("queue", "x", [{"a": "b"}])
    client.close()


def test_a_broker_that_hangs_up_is_told():
    port, _ = played([b""])
    with pytest.raises(CbnetError, match="the broker has closed the connection"):
        amqp.AmqpClient("127.0.0.1", port)
