"""Frames: what do routers and clients say to each other? The bytes are in `docs/reference/protocol.md`.

    both ways           Hello  Ping  Pong  Close
    between routers     Links  Whole  Change        records of the link-state database
                        Summary  Want               what one has, what the other lacks
                        Packet                      a message on its way
                        Seen  Ask  Report           to one router, by the next hop toward it
                        Request  Reply  NoItem      the same: pull
    client to router    Subscribe  Unsubscribe  Publish  Trace  IfSlow  AskStatus
                        Offer  Withdraw  Pull  Answer
    router to client    Subscribed  Unsubscribed  Published  Traced  TraceEnd  Refused  Deliver  Lost  Status
                        Offered  Withdrawn  Asked  Replied  NotReplied

A frame is an array whose first member says which frame it is. What the types of its
members say (`frame_parts`) is checked while it is read, so that nothing behind `wire` sees a list that is too long or a
number out of range.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from cbnet.network.protocol.fields import (
    MAX_COUNTERS,
    MAX_ENTRIES,
    MAX_HOLDERS,
    MAX_INT,
    MAX_PEERS,
    MAX_TOKEN_LENGTH,
    MAX_TRIED_ROUTERS,
    Attributes,
    Branch,
    Entry,
    FilterKind,
    Filters,
    GatewayPath,
    Hop,
    Hops,
    Item,
    Keep,
    Mark,
    Neighbours,
    NodeName,
    Number,
    Part,
    Payload,
    Peer,
    PredicateText,
    Reason,
    RequestBytes,
    Routers,
    Seconds,
    Step,
    Steps,
    Tags,
    WireHeader,
)

__all__ = [
    "Answer", "Ask", "AskStatus", "Asked", "Branch", "Change", "Close", "Deliver", "Entry", "Frame", "Hello", "Hop",
    "IfSlow", "Item", "Links", "Lost", "Mark", "NoItem", "NotReplied", "Offer", "Offered", "Packet", "Peer", "Ping",
    "Pong", "Publish", "Published", "Pull", "Refused", "Replied", "Reply", "Report", "Request", "Seen", "Status",
    "Step", "Subscribe", "Subscribed", "Summary", "Trace", "TraceEnd", "Traced", "Unsubscribe", "Unsubscribed",
    "Want", "Whole", "Withdraw", "Withdrawn", "tag_of",
]  # fmt: skip


class _Frame(Part, tag=True):
    pass


# --- both ways


class Hello(_Frame, tag=1):
    """The first frame on a link, from either side: who speaks, and which versions of the protocol it knows."""

    low: Number
    high: Number
    role: Literal["router", "client"]
    name: NodeName
    network: NodeName
    life: Number  # of a router: another number each time that it starts
    scheme: Annotated[str, Meta(max_length=64)]
    token: Annotated[str, Meta(max_length=MAX_TOKEN_LENGTH)] = ""  # of a client, which shows by it who it is

    def __repr__(self) -> str:
        said = (f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__[:-1])
        return f"Hello({', '.join(said)}{', token=…' if self.token else ''})"  # a token must not come into any log


class Ping(_Frame, tag=2):
    """Are you there?"""

    number: Number


class Pong(_Frame, tag=3):
    """Yes."""

    number: Number


class Close(_Frame, tag=4):
    """The last frame on a link: why it is closed."""

    reason: Reason


# --- between routers


class Links(_Frame, tag=5):
    """The record of a router's links: its neighbours, and the length of the way to each."""

    owner: NodeName
    life: Number
    sequence: Number
    age: Number  # ms
    neighbours: Neighbours
    # Of a gateway: from the root of the tree between domains to itself; see `border_tree`.
    way: GatewayPath = []  # noqa: RUF012  # a new one for each frame, as msgspec makes it


class Whole(_Frame, tag=6):
    """The record of a node's predicate or offers, or a part of it: the parts of one follow each other on a link."""

    owner: NodeName
    life: Number
    sequence: Number
    age: Number
    filters: Filters
    is_last: bool
    kind: FilterKind = 1


class Change(_Frame, tag=7):
    """The record of a node's predicate or offers, as the difference to that with the sequence number before."""

    owner: NodeName
    life: Number
    sequence: Annotated[int, Meta(ge=1, le=MAX_INT)]
    age: Number
    added: Filters
    removed: Filters
    wants_seen: bool
    kind: FilterKind = 1


class Summary(_Frame, tag=8):
    """Records that a router has."""

    entries: Annotated[list[Entry], Meta(max_length=MAX_ENTRIES)]


class Want(_Frame, tag=9):
    """Records that a router lacks; only the owner and the kind of each entry count."""

    entries: Annotated[list[Entry], Meta(max_length=MAX_ENTRIES)]


class Packet(_Frame, tag=10):
    """A message on its way: source, life and number make it unlike all others."""

    source: NodeName
    life: Number
    number: Number
    hops: Hops
    header: WireHeader
    attributes: Attributes
    tags: Tags
    payload: Payload
    mark: Mark | None = None
    origin: Annotated[str, Meta(max_length=64)] = ""  # in another domain; then the source is the gateway it came by


class Seen(_Frame, tag=11):
    """A router, in its present life, has a version of the predicate or offers of another."""

    to: NodeName
    hops: Hops
    router: NodeName
    router_life: Number
    life: Number
    sequence: Number
    kind: FilterKind = 1


class Ask(_Frame, tag=12):
    """Which version of my predicate or offers have you?"""

    to: NodeName
    hops: Hops
    router: NodeName
    kind: FilterKind = 1


class Report(_Frame, tag=13):
    """A hop of a traced packet, told to the router that wants to know."""

    to: NodeName
    hops: Hops
    number: Number
    hop: Hop


class Request(_Frame, tag=14):
    """A request on its way to the router of a holder."""

    to: NodeName
    hops: Hops
    source: NodeName  # the router of who requests; with its life and a number the locator for the reply
    life: Number
    number: Number
    request: RequestBytes
    tried: Annotated[list[NodeName], Meta(max_length=MAX_TRIED_ROUTERS)]  # routers whose holders have not got it
    asked: Annotated[int, Meta(ge=0, le=MAX_HOLDERS)]  # holders that have not got it
    most: Annotated[int, Meta(ge=1, le=MAX_HOLDERS)]  # holders to be asked
    left: Number  # ms until nobody waits for a reply
    is_fresh: bool  # no cache may answer
    steps: Steps = None


class Reply(_Frame, tag=15):
    """What a holder answered, on its way to who requested it."""

    to: NodeName
    hops: Hops
    life: Number
    number: Number
    request: RequestBytes
    attributes: Attributes
    tags: Tags
    payload: Payload
    holder: NodeName  # the router of who answered
    cache: Annotated[str, Meta(max_length=64)]  # the router whose cache it comes from; "" if from a holder
    age: Number  # ms in caches
    keep: Keep
    asked: Annotated[int, Meta(ge=0, le=MAX_HOLDERS)]  # holders, for this request
    steps: Steps = None


class NoItem(_Frame, tag=16):
    """No holder that was asked has what is requested, and no other is to be asked."""

    to: NodeName
    hops: Hops
    life: Number
    number: Number
    tried: Number  # routers that offer it
    asked: Annotated[int, Meta(ge=0, le=MAX_HOLDERS)]  # holders
    steps: Steps = None


# --- client to router


class Subscribe(_Frame, tag=20):
    """Deliver to me what this predicate matches, from now on; in the place of what this id stood for."""

    id: Number
    predicate: PredicateText
    wait: Seconds  # for all routers to have it; 0: do not wait
    is_loaded: bool = False  # what is delivered to the node's loaded predicate, in the place of a predicate


class Unsubscribe(_Frame, tag=21):
    """No longer deliver what the predicate of this id matches."""

    id: Number


class Publish(_Frame, tag=22):
    """Deliver this message to whoever asked for it."""

    number: Number
    attributes: Attributes
    tags: Tags
    payload: Payload
    wants_answer: bool


class Trace(_Frame, tag=23):
    """What happens to this message on its way?"""

    number: Number
    attributes: Attributes
    tags: Tags
    payload: Payload
    is_dry: bool
    predicate: PredicateText
    at: Annotated[str, Meta(max_length=64)]


class IfSlow(_Frame, tag=24):
    """What to do if I read too slowly: drop the oldest messages and tell me how many, or disconnect me."""

    policy: Literal["drop", "disconnect"]


class AskStatus(_Frame, tag=25):
    """How are you?"""

    number: Number


class Offer(_Frame, tag=26):
    """I answer requests that match this predicate, from now on; in the place of what this id stood for."""

    id: Number
    predicate: PredicateText
    wait: Seconds  # for all routers to have it; 0: do not wait


class Withdraw(_Frame, tag=27):
    """I no longer answer requests for the offer of this id."""

    id: Number


class Pull(_Frame, tag=28):
    """Get me a reply to this request."""

    number: Number
    request: RequestBytes
    timeout: Seconds
    max_holders: Annotated[int, Meta(ge=1, le=MAX_HOLDERS)]
    is_fresh: bool  # no cache may answer
    is_traced: bool


class Answer(_Frame, tag=29):
    """What I have for the request of this number; nothing."""

    number: Number
    item: Item | None


# --- router to client


class Subscribed(_Frame, tag=30):
    """The subscription is taken; if it was to be waited for, whether all who can be reached have it."""

    id: Number
    is_confirmed: bool
    routers: Number  # that have it
    missing: Routers  # known, and not known to have it


class Unsubscribed(_Frame, tag=31):
    """The subscription is gone."""

    id: Number


class Published(_Frame, tag=32):
    """The message is on its way."""

    number: Number


class Traced(_Frame, tag=33):
    """What one router did with the message."""

    number: Number
    hop: Hop


class TraceEnd(_Frame, tag=34):
    """No more is to be told of a trace; some routers, which the message was sent to, have not reported."""

    number: Number
    missing: Routers


class Refused(_Frame, tag=35):
    """What was asked for is not done: which frame (its first member), its id or number, and why."""

    frame: Number
    number: Number
    reason: Reason


class Deliver(_Frame, tag=36):
    """A message for some of the client's subscriptions."""

    subscriptions: Annotated[list[Number], Meta(max_length=MAX_ENTRIES)]
    source: NodeName
    life: Number
    number: Number
    attributes: Attributes
    tags: Tags
    payload: Payload


class Lost(_Frame, tag=37):
    """Some messages were dropped because the client read too slowly: so many since this was last told."""

    messages: Number


class Status(_Frame, tag=38):
    """How a router is."""

    number: Number
    router: NodeName
    network: NodeName
    scheme: Annotated[str, Meta(max_length=64)]
    life: Number
    uptime: Annotated[float, Meta(ge=0)]  # seconds
    neighbours: Neighbours
    reachable: Number  # routers, with this one
    records: Number
    filters: Number  # in the records of predicates
    announced: Number  # filters of this router's own predicate
    subscriptions: Number
    clients: Number
    peers: Annotated[list[Peer], Meta(max_length=MAX_PEERS)]
    counters: Annotated[dict[str, Number], Meta(max_length=MAX_COUNTERS)]
    loaded: Number = 0  # filters of the predicate that the node began with
    offers: Number = 0  # of its clients
    cached: Number = 0  # bytes of replies in its cache


class Offered(_Frame, tag=40):
    """The offer is taken; if it was to be waited for, whether all who can be reached have it."""

    id: Number
    is_confirmed: bool
    routers: Number  # that have it
    missing: Routers  # known, and not known to have it


class Withdrawn(_Frame, tag=41):
    """The offer is gone."""

    id: Number


class Asked(_Frame, tag=42):
    """Somebody requests what one of your offers matches: answer it."""

    number: Number
    offer: Number  # its id
    request: RequestBytes


class Replied(_Frame, tag=43):
    """The reply to a request."""

    number: Number
    attributes: Attributes
    tags: Tags
    payload: Payload
    holder: NodeName  # the router of who answered
    cache: Annotated[str, Meta(max_length=64)]  # the router whose cache it comes from; "" if from a holder
    age: Number  # ms in caches
    asked: Number  # holders
    steps: Steps


class NotReplied(_Frame, tag=44):
    """There is no reply to a request, or none came in time."""

    number: Number
    is_late: bool
    tried: Number  # routers that offer it
    asked: Number  # holders
    steps: Steps


Frame: TypeAlias = (
    Hello | Ping | Pong | Close
    | Links | Whole | Change | Summary | Want | Packet | Seen | Ask | Report | Request | Reply | NoItem
    | Subscribe | Unsubscribe | Publish | Trace | IfSlow | AskStatus | Offer | Withdraw | Pull | Answer
    | Subscribed | Unsubscribed | Published | Traced | TraceEnd | Refused | Deliver | Lost | Status
    | Offered | Withdrawn | Asked | Replied | NotReplied
)  # fmt: skip


def tag_of(kind: type[Frame]) -> int:
    """Return the first member of all frames of a kind, which says which it is."""
    tag = kind.__struct_config__.tag
    assert isinstance(tag, int)
    return tag
