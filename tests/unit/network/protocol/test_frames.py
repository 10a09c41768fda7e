"""The frames are those of docs/reference/protocol.md, member by member, and its example is what it says."""

import re
from pathlib import Path

from support.packets import packet

from cbnet import parse_filter
from cbnet.language.condition import MAX_CONDITION_LENGTH
from cbnet.language.message import MAX_DEPTH
from cbnet.language.syntax.byte_form import filter_to_bytes
from cbnet.network.durable import publisher_windows
from cbnet.network.durable.histories import followers
from cbnet.network.durable.subscriptions import consumers
from cbnet.network.link import settings
from cbnet.network.protocol import durable_frames, frames, wire
from cbnet.network.protocol import fields as frame_parts
from cbnet.network.protocol.frames import Announce, Hello, StreamChange
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.protocol.wire import FrameReader
from cbnet.network.pull import holders, requesters
from cbnet.network.router import filter_quotas
from cbnet.network.transport import tcp_router as tcp

DOCUMENT = (Path(__file__).parents[4] / "docs" / "reference" / "protocol.md").read_text()


def members(text):
    """Return the first column of the first table in a text."""
    table = re.search(r"\| member \|.*?\n\|---.*?\n((?:\|.*\n)+)", text)
    return tuple(re.findall(r"^\| (\w+) \|", table[1], re.MULTILINE))


def test_every_frame_is_in_the_document_with_its_number_and_members():
    told = {
        (int(number), name): members(body)
        for number, name, body in re.findall(r"^### (\d+) (\w+)\n(.*?)(?=^##|\Z)", DOCUMENT, re.MULTILINE | re.DOTALL)
    }
    real = {(kind.__struct_config__.tag, kind.__name__): kind.__struct_fields__ for kind in frames.FRAMES}
    assert told == real


def test_every_reason_code_is_in_the_document():
    rows = re.findall(r"^\| (\d+) \| `([A-Z_]+)` \|", DOCUMENT, re.MULTILINE)
    assert {name: int(number) for number, name in rows} == {code.name: code.value for code in ReasonCode}


def test_the_parts_of_frames_are_in_the_document_with_their_members():
    parts = {
        "A mark": frames.TraceMark, "A hop": frames.Hop, "A branch": frames.Branch, "A peer": frames.Peer,
        "A step": frames.StepField, "An item": frames.ItemField, "An entry": frames.StoredEntry,
        "A listed subscription": frames.SubscriptionField,
        "A stored message": frames.StoredField,
        "A durable subscription": frames.DurableField, "The `durable` member of a `Packet`": frames.DurableMark,
        "The use of an account": frames.AccountField,
        "A start in the history": frames.HistoryStart, "A history": frames.HistoryField,
        "A journal": frames.JournalField,
    }  # fmt: skip
    for name, kind in parts.items():
        assert members(DOCUMENT.partition(f"{name} is an array of:")[2]) == kind.__struct_fields__
    assert members(DOCUMENT.partition("Limits are an array of:")[2]) == frames.DurableLimits.__struct_fields__


def test_the_limits_in_the_document_are_the_real_ones():
    limits = [
        wire.MAX_HELLO_BYTES, wire.MAX_CLIENT_FRAME_BYTES, wire.MAX_ROUTER_FRAME_BYTES, wire.MAX_PACKET_BYTES,
        frame_parts.MAX_VALUES, frame_parts.MAX_NAME_CHARACTERS, MAX_CONDITION_LENGTH, MAX_DEPTH, frame_parts.MAX_TAGS, frame_parts.MAX_PAYLOAD_BYTES, frame_parts.MAX_NEIGHBOURS, frame_parts.MAX_FRAME_FILTERS,
        frame_parts.MAX_FILTER_BYTES, frame_parts.MAX_PREDICATE_LENGTH, frame_parts.MAX_ENTRIES, frame_parts.MAX_ROUTERS, frame_parts.MAX_WEIGHT,
        frame_parts.MAX_HOPS, frame_parts.MAX_REASON_LENGTH, frame_parts.MAX_EXAMPLES, frame_parts.MAX_BRANCHES, filter_quotas.MAX_NODE_FILTERS, filter_quotas.MAX_NODE_BYTES,
        frame_parts.PREDICATE_LIMITS.filters, frame_parts.PREDICATE_LIMITS.constraints, round(settings.Settings("a").lifetime),
        round(settings.Settings("a").refresh), frame_parts.MAX_PEERS, frame_parts.MAX_COUNTERS,
        frame_parts.MAX_STEPS, frame_parts.MAX_REQUEST_BYTES, frame_parts.MAX_REQUEST_TERMS, frame_parts.MAX_HOLDERS, frame_parts.MAX_VISITED_ROUTERS, frame_parts.MAX_TREES, frame_parts.MAX_TRIES, frame_parts.MAX_FRAME_STREAMS, holders.MAX_HOLDER_REQUESTS, requesters.MAX_CLIENT_REQUESTS,
        requesters.MAX_ROUTER_REQUESTS, tcp.MAX_QUEUED_MESSAGES, tcp.MAX_QUEUED_FOR_CLIENT, tcp.MAX_QUEUED_FOR_NEIGHBOUR, tcp.MAX_QUEUED_PACKETS, tcp.WINDOW, tcp.MARK,
        frame_parts.MAX_HOMES, frame_parts.MAX_HOME_RECORDS, durable_frames.MAX_UNSETTLED, consumers.MAX_CONSUMER_BYTES, round(publisher_windows.PUBLISHER_AGE), publisher_windows.MAX_PUBLISHERS, durable_frames.MAX_PROBLEMS,
        followers.MAX_CLIENT_REPLAYS, followers.MAX_REPLAYS, followers.MAX_REPLAY_BYTES, round(durable_frames.MAX_HISTORY_AGE),
    ]  # fmt: skip
    numbers = set(re.findall(r"[\d,]*\d", DOCUMENT))
    assert {f"{limit:,}" for limit in limits} <= numbers


def example(text):
    """Return the bytes at the start of the lines of a block."""
    block = text.partition("```text\n")[2].partition("```")[0]
    return bytes.fromhex("".join(re.match(r"(?:[0-9a-f]{2} )*[0-9a-f]{2}|", line)[0] for line in block.splitlines()))


def test_filters_of_the_document_are_encoded_as_described():
    filters = [parse_filter('x in ("a", 1, true, null)'), parse_filter("y = null and a < b and #t")]
    data = example(DOCUMENT.partition("as\ncbnet prints it")[2])
    assert data == b"".join(map(filter_to_bytes, filters))


def test_example_of_the_document_decodes_as_described():
    data = example(DOCUMENT.partition("## An example")[2])
    filter = filter_to_bytes(parse_filter("price < 500 and #upgradeable"))
    opening = StreamChange(
        number=1, sequence=1, side=bytes(range(16)), base=0, added=[0], removed=[], is_last=True
    )  # fmt: skip
    assert list(FrameReader().feed(data)) == [
        Hello(low=4, high=5, role="router", name="a", network="cbnet", incarnation=7, link=1, scheme="multitree:1"),
        Announce(filters=[filter], offers=[], changes=[opening], ended=[]),
        packet(incarnation=7, number=1, hops=1, side=5, attributes={"price": 300}, tags=["upgradeable"], payload=b"hi"),
    ]
